package egress

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
)

func code(err error) fault.Code {
	if f := fault.Of(err); f != nil {
		return f.Code
	}
	return ""
}

func TestFetch(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("movie", 100_000)
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "video/mp4")
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		_, _ = io.WriteString(w, body)
	})
	var got bytes.Buffer
	var last, total int64
	f, err := s.client(t).Fetch(t.Context(), s.URL+"/a.mp4?token=1", &got, int64(len(body)), func(d, n int64) {
		require.Greater(t, d, last)
		last, total = d, n
	})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(Fetched{SizeBytes: int64(len(body)), ContentType: "video/mp4"}, f))
	require.Equal(t, body, got.String())
	require.Equal(t, []int64{f.SizeBytes, f.SizeBytes}, []int64{last, total})
}

func TestFetchNeedsTheListAndItsAuthority(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") })
	fetch := func(change func(*Options)) fault.Code {
		_, err := s.client(t, change).Fetch(t.Context(), s.URL, io.Discard, 10, nil)
		return code(err)
	}
	require.Equal(t, fault.Code(""), fetch(func(*Options) {}))
	require.Equal(t, fault.URLForbidden, fetch(func(o *Options) { o.Allow = nil }))
	require.Equal(t, fault.URLForbidden, fetch(func(o *Options) { o.Allow = []string{"127.0.0.1:1"} }))
	require.Equal(t, fault.URLFetchFailed, fetch(func(o *Options) { o.CAFile = "" }))

	c := s.client(t)
	require.Nil(t, c.public.TLSClientConfig.RootCAs, "the extra authority is trusted only for listed targets")
	require.Nil(t, c.public.Proxy)
	require.Nil(t, c.listed.Proxy)
	for _, bad := range []Options{{Allow: []string{"localhost"}}, {Allow: []string{":443"}}, {CAFile: "absent.pem"}, {CAFile: "doc.go"}} {
		_, err := New(bad)
		require.Error(t, err, "%+v", bad)
	}
}

func TestFetchFailures(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	mux := http.NewServeMux()
	s := newSite(t, mux.ServeHTTP)
	t.Cleanup(func() { close(hold) }) // before the server closes, which waits for its handlers
	wait := func(r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-hold:
		}
	}
	mux.HandleFunc("/status/{n}", func(w http.ResponseWriter, r *http.Request) {
		var n int
		_, _ = fmt.Sscan(r.PathValue("n"), &n)
		w.WriteHeader(n)
	})
	mux.HandleFunc("/announced", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "11")
		_, _ = io.WriteString(w, "12345678901")
	})
	mux.HandleFunc("/streamed", func(w http.ResponseWriter, _ *http.Request) {
		for range 11 {
			_, _ = io.WriteString(w, "1")
			w.(http.Flusher).Flush()
		}
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "9")
		_, _ = io.WriteString(w, "1234")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/cut-chunked", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "1234")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/gzip", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, "1234")
	})
	mux.HandleFunc("/headers", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", 2*maxHeaderBytes))
	})
	mux.HandleFunc("/silent", func(_ http.ResponseWriter, r *http.Request) { wait(r) })
	mux.HandleFunc("/stalls", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "1234")
		w.(http.Flusher).Flush()
		wait(r)
	})
	cases := []struct {
		path string
		want fault.Code
	}{
		{"/status/404", fault.URLFetchFailed}, {"/status/500", fault.URLFetchFailed}, {"/status/204", fault.URLFetchFailed},
		{"/status/200", fault.URLFetchFailed},                                        // an empty body
		{"/status/304", fault.URLFetchFailed}, {"/status/302", fault.URLFetchFailed}, // a redirect without a target
		{"/announced", fault.VideoTooLarge}, {"/streamed", fault.VideoTooLarge},
		{"/cut", fault.URLFetchFailed}, {"/cut-chunked", fault.URLFetchFailed}, {"/gzip", fault.URLFetchFailed}, {"/headers", fault.URLFetchFailed},
		{"/silent", fault.URLFetchFailed}, {"/stalls", fault.URLFetchFailed},
	}
	for _, tc := range cases {
		t.Run(tc.path, func(t *testing.T) {
			t.Parallel()
			c := s.client(t, func(o *Options) {
				switch tc.path { // a busy machine must not cause timeouts in the other cases
				case "/silent":
					o.headerTimeout = 200 * time.Millisecond
				case "/stalls":
					o.idleTimeout = 200 * time.Millisecond
				}
			})
			var got bytes.Buffer
			_, err := c.Fetch(t.Context(), s.URL+tc.path+"?token=secret", &got, 10, nil)
			require.Equal(t, tc.want, code(err), "%v", err)
			require.LessOrEqual(t, got.Len(), 10)
			f := fault.Of(err)
			require.NotContains(t, f.Message, "127.0.0.1")
			require.NotContains(t, fmt.Sprint(f, f.Cause), "secret")
		})
	}
	t.Run("the whole has a deadline", func(t *testing.T) {
		t.Parallel()
		c := s.client(t, func(o *Options) { o.totalTimeout = 300 * time.Millisecond })
		_, err := c.Fetch(t.Context(), s.URL+"/stalls", io.Discard, 10, nil)
		require.Equal(t, fault.URLFetchFailed, code(err), "%v", err)
	})
	t.Run("the caller gives up", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		_, err := s.client(t).Fetch(ctx, s.URL+"/stalls", io.Discard, 10, func(int64, int64) { cancel() })
		require.ErrorIs(t, err, context.Canceled)
		require.Empty(t, code(err), "the URL is not the problem")
	})
	t.Run("the writer fails", func(t *testing.T) {
		t.Parallel()
		full := errors.New("disk full")
		_, err := s.client(t).Fetch(t.Context(), s.URL+"/announced", writerFunc(func([]byte) (int, error) { return 0, full }), 20, nil)
		require.ErrorIs(t, err, full)
		require.Empty(t, code(err))
	})
	t.Run("the port is closed", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		addr := l.Addr().String()
		require.NoError(t, l.Close())
		_, err = s.client(t, func(o *Options) { o.Allow = []string{addr} }).Fetch(t.Context(), "https://"+addr, io.Discard, 10, nil)
		require.Equal(t, fault.URLFetchFailed, code(err), "%v", err)
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestRedirects(t *testing.T) {
	t.Parallel()
	var hits atomic.Int64
	inner := newSite(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	mux := http.NewServeMux()
	s := newSite(t, mux.ServeHTTP)
	mux.HandleFunc("/hops/{n}", func(w http.ResponseWriter, r *http.Request) {
		var n int
		_, _ = fmt.Sscan(r.PathValue("n"), &n)
		if ref := r.Referer(); ref != "" {
			t.Errorf("the redirect carried the referrer %q", ref)
		}
		if n == 0 {
			_, _ = io.WriteString(w, "arrived")
			return
		}
		http.Redirect(w, r, fmt.Sprintf("/hops/%d?token=secret", n-1), http.StatusFound)
	})
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Location"] = []string{r.URL.Query().Get("u")}
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/long", func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Location"] = []string{"/hops/0?" + strings.Repeat("a", maxURL)}
		w.WriteHeader(http.StatusFound)
	})
	c := s.client(t)
	fetch := func(path string) (string, error) {
		var got bytes.Buffer
		_, err := c.Fetch(t.Context(), s.URL+path, &got, 100, nil)
		return got.String(), err
	}
	got, err := fetch("/hops/5")
	require.NoError(t, err)
	require.Equal(t, "arrived", got)
	_, err = fetch("/hops/6")
	require.Equal(t, fault.URLFetchFailed, code(err), "%v", err)

	_, err = fetch("/long")
	require.Equal(t, fault.URLFetchFailed, code(err), "%v", err)

	for target, want := range map[string]fault.Code{
		inner.URL: fault.URLForbidden,
		strings.Replace(inner.URL, "127.0.0.1", "2130706433", 1): fault.URLForbidden,
		"http://" + s.hostPort():                                 fault.URLForbidden,
		"https://127.0.0.1/":                                     fault.URLForbidden,
		"https://0x7f.1/":                                        fault.URLForbidden,
		"https://[::ffff:7f00:1]/":                               fault.URLForbidden,
		"https://169.254.169.254/latest/meta-data":               fault.URLForbidden,
		"https://[fd00:ec2::254]/":                               fault.URLForbidden,
		"https://10.1.2.3/":                                      fault.URLForbidden,
		"https://localhost/":                                     fault.URLForbidden,
		"https://user:word@example.com/":                         fault.URLForbidden,
		"https://example.com:8443/":                              fault.URLForbidden,
		"file:///etc/passwd":                                     fault.URLForbidden,
		"https://exa mple.com/":                                  fault.URLFetchFailed,
		"https:///":                                              fault.URLFetchFailed,
	} {
		_, err := fetch("/to?u=" + strings.ReplaceAll(target, " ", "%20"))
		require.Equal(t, want, code(err), "%s: %v", target, err)
	}
	require.Zero(t, hits.Load(), "no request reached the inner server")
}

// resolver answers from a script: one line per lookup, and the last line repeatedly.
type resolver struct {
	script [][]string
	asked  []string
}

func (r *resolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	line := r.script[min(len(r.asked), len(r.script)-1)]
	r.asked = append(r.asked, host)
	if len(line) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	out := []netip.Addr{}
	for _, a := range line {
		out = append(out, netip.MustParseAddr(a))
	}
	return out, nil
}

// TestNamesThatResolveInwards: the dialed address is checked at each dial, so a name whose
// answer changes is refused.
func TestNamesThatResolveInwards(t *testing.T) {
	t.Parallel()
	const outside = "93.184.216.34"
	cases := []struct {
		name   string
		script [][]string
		want   fault.Code
		dialed []string
	}{
		{"public", [][]string{{outside}}, "", []string{outside + ":443", outside + ":443"}},
		{"public, as a mapped address", [][]string{{"::ffff:" + outside}}, "", []string{outside + ":443", outside + ":443"}},
		{"loopback", [][]string{{"127.0.0.1"}}, fault.URLForbidden, nil},
		{"loopback, as a mapped address", [][]string{{"::ffff:127.0.0.1"}}, fault.URLForbidden, nil},
		{"metadata", [][]string{{"169.254.169.254"}}, fault.URLForbidden, nil},
		{"metadata, IPv6", [][]string{{"fd00:ec2::254"}}, fault.URLForbidden, nil},
		{"link-local with a zone", [][]string{{"fe80::1%lo"}}, fault.URLForbidden, nil},
		{"one inner address among public ones", [][]string{{outside, "10.0.0.1"}}, fault.URLForbidden, nil},
		{"turns inwards for the redirect", [][]string{{outside}, {"127.0.0.1"}}, fault.URLForbidden, []string{outside + ":443"}},
		{"does not exist", [][]string{{}}, fault.URLFetchFailed, nil},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/" {
					http.Redirect(w, r, "https://EXAMPLE.com./again", http.StatusFound)
					return
				}
				_, _ = io.WriteString(w, "bytes")
			})
			dns := &resolver{script: tc.script}
			c, err := New(Options{resolver: dns})
			require.NoError(t, err)
			c.public.TLSClientConfig.RootCAs = x509.NewCertPool()
			c.public.TLSClientConfig.RootCAs.AddCert(s.Certificate())
			var dialed []string
			c.connect = func(ctx context.Context, _ *net.Dialer, network, address string) (net.Conn, error) {
				dialed = append(dialed, address) // the site stands for the public address
				return (&net.Dialer{}).DialContext(ctx, network, s.hostPort())
			}
			_, err = c.Fetch(t.Context(), "https://example.com/", io.Discard, 10, nil)
			require.Equal(t, tc.want, code(err), "%v", err)
			require.Empty(t, cmp.Diff(tc.dialed, dialed))
			for _, host := range dns.asked {
				require.Equal(t, "example.com.", host, "no search list is used")
			}
			require.Len(t, dns.asked, max(len(dialed), len(tc.script), 1), "one lookup for each dial")
		})
	}
}

// TestSocketRefusesInnerAddresses: the check of the socket works without the earlier check.
func TestSocketRefusesInnerAddresses(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	_, err = (&net.Dialer{Control: func(_, address string, _ syscall.RawConn) error { return refuseNonPublic(address, fetchPorts) }}).DialContext(t.Context(), "tcp", l.Addr().String())
	require.Equal(t, fault.URLForbidden, code(err), "%v", err)
	require.NoError(t, refuseNonPublic("93.184.216.34:443", fetchPorts))
	for _, address := range []string{"93.184.216.34:80", "127.0.0.1:443", "[::1]:443", "[fe80::1%eth0]:443", "[64:ff9b::a00:1]:443"} {
		require.Equal(t, fault.URLForbidden, code(refuseNonPublic(address, fetchPorts)), address)
	}
}

// TestFetchOfADrippingServer: a server that is never silent but too slow is given up.
func TestFetchOfADrippingServer(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, "drip")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Millisecond)
		}
	})
	c := s.client(t, func(o *Options) { o.minRate, o.rateWindow, o.totalTimeout = 1<<20, 100*time.Millisecond, time.Minute })
	_, err := c.Fetch(t.Context(), s.URL+"/a.mp4", io.Discard, 1<<30, nil)
	require.Equal(t, fault.URLFetchFailed, code(err), "%v", err)
	require.Contains(t, fault.Of(err).Message, "fewer than 1048576 bytes per second")
}

func TestPace(t *testing.T) {
	t.Parallel()
	p := pace{minRate: 1000, window: 10 * time.Second}
	require.True(t, p.read(1, 9*time.Second), "the window is not over")
	require.True(t, p.read(9999, time.Second), "exactly the rate")
	require.True(t, p.read(0, 9*time.Second), "the next window starts")
	require.False(t, p.read(9998, time.Second))
	require.True(t, p.read(1<<30, time.Minute), "a fast server may pause")
	require.True(t, p.read(1, 0), "the time of the writer does not count")
}
