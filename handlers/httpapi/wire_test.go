package httpapi_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/handlers/httpapi"
	"vqa/handlers/objects"
	"vqa/handlers/wire"
)

// listen serves the world on a listener like that of the program and returns its address.
func (w *world) listen(o wire.Options) string {
	w.t.Helper()
	raw, err := new(net.ListenConfig).Listen(w.t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(w.t, err)
	o.Refuse = w.handler.Refuse
	l := wire.Listen(raw, o)
	s := &http.Server{Handler: w.handler, ReadHeaderTimeout: time.Minute}
	l.Attach(s)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	w.t.Cleanup(func() {
		require.NoError(w.t, s.Close())
		require.ErrorIs(w.t, <-served, http.ErrServerClosed)
	})
	return raw.Addr().String()
}

// socket is one raw connection to a world.
type socket struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

func (w *world) dial(address string) *socket {
	w.t.Helper()
	c, err := new(net.Dialer).DialContext(w.t.Context(), "tcp", address)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = c.Close() })
	require.NoError(w.t, c.SetDeadline(time.Now().Add(time.Minute)))
	return &socket{c, w.t, bufio.NewReader(c)}
}

func (s *socket) send(format string, args ...any) {
	s.t.Helper()
	_, err := fmt.Fprintf(s, format, args...)
	require.NoError(s.t, err)
}

// answer reads one response and requires an error envelope.
func (s *socket) answer(status int, code fault.Code) response {
	s.t.Helper()
	got, err := http.ReadResponse(s.r, nil)
	require.NoError(s.t, err)
	raw, err := io.ReadAll(got.Body)
	require.NoError(s.t, err)
	require.NoError(s.t, got.Body.Close())
	out := response{Response: got, raw: raw}
	require.NoError(s.t, json.Unmarshal(raw, &out.json), string(raw))
	require.Equal(s.t, status, got.StatusCode, string(raw))
	require.Equal(s.t, string(code), out.at("error.code"), string(raw))
	require.EqualValues(s.t, status, out.at("error.status"))
	require.Regexp(s.t, `^req_[0-9A-HJKMNP-TV-Z]{26}$`, out.at("error.request_id"))
	require.Equal(s.t, out.at("error.request_id"), got.Header.Get("X-Request-Id"))
	require.Equal(s.t, "application/json", got.Header.Get("Content-Type"))
	for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Date"} {
		require.NotEmpty(s.t, got.Header.Get(name), name)
	}
	return out
}

// closed requires that the server closes the connection.
func (s *socket) closed() {
	s.t.Helper()
	_, err := s.r.ReadByte()
	require.ErrorIs(s.t, err, io.EOF)
}

// TestMalformedRequestsGetTheEnvelope sends requests that net/http refuses before a handler runs.
func TestMalformedRequestsGetTheEnvelope(t *testing.T) {
	t.Parallel()
	w := open(t)
	address := w.listen(wire.Options{})
	for name, tt := range map[string]struct {
		text    string
		status  int
		message string
	}{
		"a path":              {"GET /v1/videos/%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400, "The request line or a header is malformed."},
		"no host":             {"GET /v1/videos HTTP/1.1\r\n\r\n", 400, "The request is malformed: missing required Host header."},
		"a bad host":          {"GET /v1/videos HTTP/1.1\r\nHost: a b\r\n\r\n", 400, "The request is malformed: malformed Host header."},
		"no request line":     {"hello\r\n\r\n", 400, "The request line or a header is malformed."},
		"headers of 70 KB":    {"GET /v1/videos HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", 70_000) + "\r\n\r\n", 431, "The request line and the headers together are larger than 64 KiB."},
		"a URI of 70 KB":      {"GET /" + strings.Repeat("a", 70_000) + " HTTP/1.1\r\nHost: x\r\n\r\n", 431, "The request line and the headers together are larger than 64 KiB."},
		"a transfer encoding": {"POST /v1/parse HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "The transfer encoding is not supported. Send the body with Content-Length or in chunks."},
		"an expectation":      {"POST /v1/parse HTTP/1.1\r\nHost: x\r\nExpect: more\r\nContent-Length: 1\r\n\r\n", 417, "The only supported value of Expect is 100-continue."},
		"HTTP/3 as text":      {"GET /v1/videos HTTP/3.0\r\nHost: x\r\n\r\n", 505, "The request is malformed: unsupported protocol version."},
	} {
		t.Run(name, func(t *testing.T) {
			s := w.dial(address)
			s.send("%s", tt.text)
			require.Equal(t, tt.message, s.answer(tt.status, fault.ValidationFailed).at("error.message"))
			s.closed()
		})
	}
	s := w.dial(address)
	s.send("GET /v1/nothing HTTP/1.0\r\n\r\n")
	s.answer(404, fault.ResourceNotFound)
}

// TestConnectionsOfAnAddressAreLimited repeats an attack with 900 connections.
func TestConnectionsOfAnAddressAreLimited(t *testing.T) {
	t.Parallel()
	w := open(t)
	address := w.listen(wire.Options{PerAddress: 8})
	for range 8 {
		w.dial(address)
	}
	// The kernel completes handshakes before the server accepts the connections, so the
	// refusals can arrive later.
	s := w.dial(address)
	got := s.answer(429, fault.ConcurrencyLimitExceeded)
	require.Equal(t, "This address has 8 open connections already.", got.at("error.message"))
	require.Equal(t, "1", got.Header.Get("Retry-After"))
	s.closed()
}

// impatient is a pace for tests: a pause may last 200 ms.
func impatient(o *httpapi.Options) {
	o.BodyPace = wire.Pace{Patience: 200 * time.Millisecond, Rate: 16 << 10, Total: 400 * time.Millisecond}
}

// TestStalledBodiesAreEnded: a body that stalls or arrives slowly gets an error and its
// connection is closed. It is not an internal error.
func TestStalledBodiesAreEnded(t *testing.T) {
	t.Parallel()
	w := open(t, impatient)
	address := w.listen(wire.Options{})
	c := w.customer(100)
	const late = "The body arrived too slowly. Send it without pauses, within 30 seconds."
	type stalled struct {
		method, path, key string
		status            int
		code              fault.Code
	}
	key := "Authorization: Bearer " + c.key.Secret + "\r\n"
	for name, tt := range map[string]stalled{
		"without a key":         {"POST", "/v1/parse", "", 400, fault.ValidationFailed},
		"with a key":            {"POST", "/v1/videos", key, 400, fault.ValidationFailed},
		"an operation without":  {"POST", "/v1/analyses/an_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1B/cancel", key, 400, fault.ValidationFailed},
		"refused before":        {"POST", "/v1/videos", "", 401, fault.InvalidAPIKey},
		"a read":                {"GET", "/v1/videos/video_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A", key, 404, fault.ResourceNotFound},
		"an unknown path":       {"POST", "/v1/nothing", "", 404, fault.ResourceNotFound},
		"a wrong signed upload": {"PUT", objects.Path + "x", "", 403, fault.InsufficientScope},
	} {
		t.Run(name, func(t *testing.T) {
			for _, dripping := range []bool{false, true} {
				s := w.dial(address)
				s.send("%s %s HTTP/1.1\r\nHost: x\r\n%sContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", tt.method, tt.path, tt.key)
				stop := make(chan struct{})
				if dripping {
					go drip(s, stop)
				}
				got := s.answer(tt.status, tt.code)
				close(stop)
				if tt.status == 400 {
					require.Equal(t, late, got.at("error.message"))
				}
				if !dripping {
					s.closed()
				}
			}
		})
	}
	require.NotContains(t, w.logged.String(), "level=ERROR")
	require.NotContains(t, w.logged.String(), "internal_error")
	require.NotContains(t, w.logged.String(), "status=500")
}

// drip sends one byte every 20 ms.
func drip(s *socket, stop chan struct{}) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			if _, err := s.Write([]byte(" ")); err != nil {
				return
			}
		}
	}
}

// TestDisconnectedClientsAreNotInternalErrors: a client that disconnects is not logged as an error.
func TestDisconnectedClientsAreNotInternalErrors(t *testing.T) {
	t.Parallel()
	w := open(t)
	address := w.listen(wire.Options{})
	c := w.customer(100)
	for _, path := range []string{"/v1/parse", "/v1/videos", "/v1/analyses"} {
		s := w.dial(address)
		s.send("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", path, c.key.Secret)
		require.NoError(t, s.Close())
	}
	waiting := w.dial(address)
	videoID := c.ready()
	body := fmt.Sprintf(`{"video_id": %q, "prompt": "Is there a dog?"}`, videoID)
	waiting.send("POST /v1/analyses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nPrefer: wait=60\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		c.key.Secret, len(body), body)
	require.Eventually(t, func() bool { return w.waiting() == 1 }, 10*time.Second, time.Millisecond)
	require.NoError(t, waiting.Close())
	require.Eventually(t, func() bool {
		log := w.logged.String()
		return strings.Count(log, "operation=createAnalysis") == 2 && strings.Contains(log, "operation=parsePrompt") &&
			strings.Count(log, "operation=createVideo") == 2
	}, 10*time.Second, time.Millisecond)
	require.NotContains(t, w.logged.String(), "status=500")
	require.NotContains(t, w.logged.String(), "level=ERROR")
}

// TestClientsThatStopReadingAreDisconnected: a client that does not read its response is disconnected.
func TestClientsThatStopReadingAreDisconnected(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	w := open(t, func(o *httpapi.Options) {
		o.ResponsePace = wire.Pace{Patience: 300 * time.Millisecond, Rate: 1 << 30}
		o.ObjectHandler = http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			_, err := io.CopyN(rw, endless{}, 64<<20)
			ended <- err
		})
	})
	s := w.dial(w.listen(wire.Options{}))
	s.send("GET %sx HTTP/1.1\r\nHost: x\r\n\r\n", objects.Path)
	select {
	case err := <-ended:
		require.ErrorIs(t, err, wire.ErrSlow)
	case <-time.After(time.Minute):
		t.Fatal("the response is still being written")
	}
}

// endless is an endless source of zeros.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
