package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
)

func (s site) poster(t *testing.T, change ...func(*Options)) *Poster {
	t.Helper()
	p := s.client(t, change...).NewPoster(time.Now)
	p.total = time.Minute // a busy machine must not fail a test
	t.Cleanup(p.Close)
	return p
}

func TestPostSendsTheBytes(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, repeatable := r.Header["Idempotency-Key"]
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusAccepted)
		_, _ = fmt.Fprintf(w, "%s %s %s %s %v %d\x00\xff", r.Method, r.Proto, r.Header.Get("X-Mine"), body, repeatable, r.ContentLength)
	})
	got, err := s.poster(t).Post(t.Context(), s.URL+"/hook?a=1", http.Header{"X-Mine": {"yes"}}, []byte("body"))
	require.NoError(t, err)
	require.Equal(t, Response{Status: 202, RetryAfter: "7", Snippet: "POST HTTP/1.1 yes body false 4\uFFFD\uFFFD"}, got)
}

func TestPostFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
	})
	got, err := s.poster(t).Post(t.Context(), s.URL, nil, nil)
	require.NoError(t, err)
	require.Equal(t, 307, got.Status)
	require.Equal(t, int32(1), calls.Load())
}

func TestPostChecksTheTarget(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(http.ResponseWriter, *http.Request) { t.Error("a forbidden target was reached") })
	p := s.poster(t, func(o *Options) { o.Allow = nil })
	for _, url := range []string{s.URL, "http://example.com", "https://localhost/", "https://10.0.0.1/", "https://169.254.169.254/"} {
		_, err := p.Post(t.Context(), url, nil, nil)
		var failed *PostError
		require.ErrorAs(t, err, &failed, url)
		require.Equal(t, fault.URLForbidden, code(err), url)
	}
}

// TestPostReusesConnections counts the connections of requests one after the other. Short responses
// are read to their end, and long ones are not.
func TestPostReusesConnections(t *testing.T) {
	t.Parallel()
	var opened atomic.Int32
	long := strings.Repeat("x", 512<<10)
	s := newWatchedSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			_, _ = io.WriteString(w, long)
			return
		}
		_, _ = io.WriteString(w, long[:10<<10])
	}, func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	})
	now := time.Now()
	p := s.poster(t)
	p.now = func() time.Time { return now }
	post := func(path string) Response {
		r, err := p.Post(t.Context(), s.URL+path, nil, []byte("{}"))
		require.NoError(t, err)
		require.LessOrEqual(t, len(r.Snippet), postSnippet)
		return r
	}
	for range 10 {
		post("/")
	}
	require.Equal(t, int32(1), opened.Load())
	post("/long") // it ends its connection
	post("/")
	require.Equal(t, int32(2), opened.Load())
	now = now.Add(postMaxAge)
	post("/")
	require.Equal(t, int32(3), opened.Load(), "connections end by their age")
}

// TestPostReadsABodyForASecond: a body that never ends does not delay the result.
func TestPostReadsABodyForASecond(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		for range 100 {
			if _, err := io.WriteString(w, "drip "); err != nil || r.Context().Err() != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			time.Sleep(100 * time.Millisecond)
		}
	})
	began := time.Now()
	got, err := s.poster(t).Post(t.Context(), s.URL, nil, []byte("{}"))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, got.Status)
	require.Contains(t, got.Snippet, "drip drip")
	require.Less(t, time.Since(began), postTotal/2)
}

// TestPostOnStaleConnections ends each connection when its second request arrives, as a receiver does
// whose idle timeout ends at that moment.
func TestPostOnStaleConnections(t *testing.T) {
	t.Parallel()
	var seen sync.Map
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if _, second := seen.LoadOrStore(r.RemoteAddr, true); second {
			hangUp(w)
		}
	})
	p := s.poster(t)
	for i := range 20 {
		_, err := p.Post(t.Context(), s.URL, nil, []byte("{}"))
		require.NoError(t, err, "request %d", i)
	}
}

// hangUp closes the connection of a request without a response.
func hangUp(w http.ResponseWriter) {
	if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
		_ = conn.Close()
	}
}

// TestPostNamesAMalformedResponse: the owner of the server learns that a response came, and why it does not count.
func TestPostNamesAMalformedResponse(t *testing.T) {
	t.Parallel()
	for name, response := range map[string]string{
		"no status line":         "hello\r\n\r\n",
		"a negative length":      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"two lengths":            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\n",
		"headers without an end": "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2*maxHeaderBytes) + "\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
				if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
					_, _ = io.WriteString(conn, response)
					_, _ = io.Copy(io.Discard, conn) // a reset would hide the response
					_ = conn.Close()
				}
			})
			_, err := s.poster(t).Post(t.Context(), s.URL, nil, []byte("{}"))
			require.EqualError(t, err, "the response is not valid HTTP, or its headers are longer than 64 KiB")
		})
	}
}

// TestPostRepeatsNothingElse ends the first connection after the request arrived. It was new, so the
// request is not repeated.
func TestPostRepeatsNothingElse(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		hangUp(w)
	})
	_, err := s.poster(t).Post(t.Context(), s.URL, nil, []byte("{}"))
	require.EqualError(t, err, "there was no response: the server closed the connection")
	require.Equal(t, int32(1), calls.Load())
}

func TestPostErrors(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	s := newSite(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-hold:
		}
	})
	t.Cleanup(func() { close(hold) })
	post := func(p *Poster, url string) string {
		_, err := p.Post(t.Context(), url, nil, []byte("{}"))
		var failed *PostError
		require.ErrorAs(t, err, &failed)
		require.NotContains(t, failed.Text, "127.0.0.1")
		return failed.Text
	}
	p := s.poster(t)
	p.total = 50 * time.Millisecond
	require.Contains(t, post(p, s.URL), "timed out while")
	require.Equal(t, "the certificate of the server is not valid: its authority is unknown", post(s.poster(t, func(o *Options) { o.CAFile = "" }), s.URL))

	gone := newSite(t, nil)
	closed := gone.poster(t)
	gone.Close()
	require.Equal(t, "the connection could not be opened", post(closed, gone.URL))

	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("the lease is over")
	cancel(over)
	_, err := s.poster(t).Post(ctx, s.URL, nil, nil)
	require.ErrorIs(t, err, over)
}
