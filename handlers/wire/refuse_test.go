package wire_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/handlers/wire"
)

// TestARefusedClientGoesSoon: a client that sends its refused body without an end keeps its request for 2 s, and not as
// long as the pace of the body allows.
func TestARefusedClientGoesSoon(t *testing.T) {
	t.Parallel()
	took := make(chan time.Duration, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		r.Body = minute.Body(w, r.Body)
		wire.Refuse(w, r, func() { w.WriteHeader(http.StatusRequestEntityTooLarge) })
		took <- time.Since(began)
	}))
	defer server.Close()
	conn, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = conn.Write([]byte("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n"))
	require.NoError(t, err)
	trickle := time.NewTicker(100 * time.Millisecond)
	defer trickle.Stop()
	for late := time.After(10 * time.Second); ; {
		select {
		case d := <-took:
			require.Less(t, d, 4*time.Second)
			return
		case <-trickle.C:
			_, _ = conn.Write([]byte{0}) // fails once the server has closed the connection
		case <-late:
			t.Fatal("the request is still there")
		}
	}
}
