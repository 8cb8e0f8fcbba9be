package wire_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/handlers/wire"
)

// site is a server whose handler responds with "handled".
func site(t *testing.T, o wire.Options) string {
	t.Helper()
	raw, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	o.Refuse = func(_ net.Addr, status int, reason string) []byte {
		body := fmt.Sprintf("%d|%s", status, reason)
		return fmt.Appendf(nil, "HTTP/1.1 %d refused\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", status, len(body), body)
	}
	l := wire.Listen(raw, o)
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "handled")
	})}
	l.Attach(s)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.ErrorIs(t, <-served, http.ErrServerClosed)
	})
	return raw.Addr().String()
}

type peer struct {
	net.Conn
	r *bufio.Reader
}

func dial(t *testing.T, address string) *peer {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
	return &peer{c, bufio.NewReader(c)}
}

// ask sends text and returns the status and the body of one response.
func (p *peer) ask(t *testing.T, text string) (int, string) {
	t.Helper()
	_, err := io.WriteString(p, text)
	require.NoError(t, err)
	return p.answer(t)
}

func (p *peer) answer(t *testing.T) (int, string) {
	t.Helper()
	got, err := http.ReadResponse(p.r, nil)
	require.NoError(t, err)
	defer func() { _ = got.Body.Close() }()
	body, err := io.ReadAll(got.Body)
	require.NoError(t, err)
	return got.StatusCode, string(body)
}

const good = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

func TestErrorsOfNetHTTPAreReplaced(t *testing.T) {
	t.Parallel()
	address := site(t, wire.Options{})
	for name, tt := range map[string]struct{ text, want string }{
		"a path":              {"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", "400|"},
		"no host":             {"GET / HTTP/1.1\r\n\r\n", "400|missing required Host header"},
		"two hosts":           {"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", "400|"},
		"not a request":       {"hello\r\n\r\n", "400|"},
		"a header":            {"GET / HTTP/1.1\r\nHost: x\r\na b: c\r\n\r\n", "400|invalid header name"},
		"headers of 70 KB":    {"GET / HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", 70_000) + "\r\n\r\n", "431|"},
		"a URI of 70 KB":      {"GET /" + strings.Repeat("a", 70_000) + " HTTP/1.1\r\nHost: x\r\n\r\n", "431|"},
		"a transfer encoding": {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", "501|"},
		"an invalid length":   {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n", "400|"},
		"an expectation":      {"POST / HTTP/1.1\r\nHost: x\r\nExpect: more\r\nContent-Length: 1\r\n\r\n", "417|"},
		"another version":     {"GET / HTTP/3.0\r\nHost: x\r\n\r\n", "505|unsupported protocol version"},
		"TLS":                 {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "400|"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, first := dial(t, address).ask(t, tt.text)
			require.Equal(t, tt.want, first)
			kept := dial(t, address)
			_, before := kept.ask(t, good)
			require.Equal(t, "handled", before)
			_, second := kept.ask(t, tt.text)
			require.Equal(t, tt.want, second, "after a good request")
		})
	}
	old := dial(t, address)
	_, body := old.ask(t, "GET / HTTP/1.0\r\n\r\n")
	require.Equal(t, "handled", body, "HTTP/1.0 needs no host")
	star := dial(t, address)
	_, body = star.ask(t, "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n")
	require.Equal(t, "handled", body)
	two := dial(t, address)
	_, body = two.ask(t, good+"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n")
	require.Equal(t, "handled", body, "the first of two requests that are sent at once")
	_, body = two.answer(t)
	require.Equal(t, "400|", body)
}

func TestConnectionsOfAnAddressAreBounded(t *testing.T) {
	t.Parallel()
	address := site(t, wire.Options{PerAddress: 3})
	held := []*peer{dial(t, address), dial(t, address), dial(t, address)}
	for _, c := range held {
		_, body := c.ask(t, good)
		require.Equal(t, "handled", body)
	}
	for range 900 {
		require.NoError(t, dial(t, address).Close())
	}
	status, body := dial(t, address).ask(t, good)
	require.Equal(t, http.StatusTooManyRequests, status)
	require.Equal(t, "429|This address has 3 open connections already", body)
	_, body = held[0].ask(t, good)
	require.Equal(t, "handled", body, "open connections still work")
	require.NoError(t, held[0].Close())
	require.Eventually(t, func() bool {
		_, body := dial(t, address).ask(t, good)
		return body == "handled"
	}, 30*time.Second, 10*time.Millisecond, "a closed connection makes room")
}

func TestConnectionsOfATrustedProxyAreNotCounted(t *testing.T) {
	t.Parallel()
	address := site(t, wire.Options{PerAddress: 1, Uncounted: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	for range 10 {
		_, body := dial(t, address).ask(t, good)
		require.Equal(t, "handled", body)
	}
}
