package main_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// balancer is a load balancer in front of several nodes. It sends each request to the next node and
// repeats none.
type balancer struct {
	*httptest.Server
	mu    sync.Mutex
	nodes []*backend
	next  int
}

// backend is a node behind a balancer.
type backend struct {
	*service
	proxy *httputil.ReverseProxy
	// active counts the running requests, served those that ended.
	active, served atomic.Int64
}

func newBalancer(t *testing.T) *balancer {
	t.Helper()
	b := &balancer{}
	b.Server = httptest.NewServer(b)
	t.Cleanup(b.Close)
	return b
}

func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	if len(b.nodes) == 0 {
		b.mu.Unlock()
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	b.next++
	n := b.nodes[b.next%len(b.nodes)]
	n.active.Add(1)
	b.mu.Unlock()
	defer func() { n.active.Add(-1); n.served.Add(1) }()
	n.proxy.ServeHTTP(w, r)
}

// add sends requests to a node that is ready.
func (b *balancer) add(t *testing.T, s *service) *backend {
	t.Helper()
	target, err := url.Parse("http://" + s.addr)
	require.NoError(t, err)
	n := &backend{service: s, proxy: httputil.NewSingleHostReverseProxy(target)}
	n.proxy.Transport = &http.Transport{}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.nodes = append(b.nodes, n)
	return n
}

// drain takes a node out, waits for its requests, and stops it.
func (b *balancer) drain(t *testing.T, n *backend) {
	t.Helper()
	b.mu.Lock()
	for i := range b.nodes {
		if b.nodes[i] == n {
			b.nodes = append(b.nodes[:i:i], b.nodes[i+1:]...)
			break
		}
	}
	b.mu.Unlock()
	require.True(t, poll(stopTimeout, func() bool { return n.active.Load() == 0 }), "requests of the drained node do not end")
	require.NoError(t, n.terminate())
}

// serves waits until each node in rotation has answered some more requests.
func (b *balancer) serves(t *testing.T, requests int64) {
	t.Helper()
	b.mu.Lock()
	nodes := append([]*backend(nil), b.nodes...)
	b.mu.Unlock()
	for _, n := range nodes {
		from := n.served.Load()
		require.True(t, poll(recovery, func() bool { return n.served.Load() >= from+requests || t.Failed() }), "a node serves too little")
	}
	require.False(t, t.Failed())
}

// load is the work of several clients. They repeat no request that failed.
type load struct {
	end     context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	statuses map[string]int
	analyses map[*apiClient][]string
}

// newLoad lets each client use the service until end.
func newLoad(t *testing.T, video []byte, clients ...*apiClient) *load {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	l := &load{end: end, statuses: map[string]int{}, analyses: map[*apiClient][]string{}}
	t.Cleanup(l.stop)
	for _, c := range clients {
		// The survey of this video answers all questions, because the engine would take the cores.
		scanned := c.readyVideo(t, clip(t, briefClip))
		l.running.Go(func() {
			for round := 0; ctx.Err() == nil && !t.Failed(); round++ {
				l.round(t, c, scanned, video, round)
			}
		})
	}
	return l
}

func (l *load) stop() {
	l.end()
	l.running.Wait()
}

// clientPause is the time that a client waits between two requests.
const clientPause = 20 * time.Millisecond

// request makes one request. Status 500 and above, and no response at all, fail the test.
func (l *load) request(t *testing.T, c *apiClient, method, path string, body any, header ...string) answer {
	a, err := c.try(t, method, path, body, header...)
	l.count(t, method+" "+path, a, err)
	time.Sleep(clientPause)
	return a
}

func (l *load) count(t *testing.T, what string, a answer, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil || a.status >= http.StatusInternalServerError {
		t.Errorf("%s: status %d, error %v: %s", what, a.status, err, a.raw)
	}
	l.statuses[strings.TrimSpace(fmt.Sprint(a.status, " ", a.code()))]++
}

// round uploads a video, asks about another one, cancels, reads and manages keys.
func (l *load) round(t *testing.T, c *apiClient, scanned string, video []byte, round int) {
	v := l.request(t, c, http.MethodPost, "/v1/videos", map[string]any{"content_type": "video/mp4", "size_bytes": len(video)})
	id := v.text("id")
	if id == "" {
		return
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, v.text("upload.url"), strings.NewReader(string(video)))
	if err != nil {
		t.Error(err)
		return
	}
	headers, _ := v.at("upload.headers").(map[string]any)
	for name, value := range headers {
		req.Header.Set(name, value.(string))
	}
	sent, err := exchange(req)
	l.count(t, "the upload", sent, err)
	l.request(t, c, http.MethodPost, "/v1/videos/"+id+"/complete", nil)
	for i, prompt := range []string{"Is there a stop sign?", "Is there a dog?", "How many cars are there?"} {
		body, key := map[string]any{"video_id": scanned, "prompt": prompt}, fmt.Sprint(id, i)
		asked := l.request(t, c, http.MethodPost, "/v1/analyses", body, "Idempotency-Key", key)
		again := l.request(t, c, http.MethodPost, "/v1/analyses", body, "Idempotency-Key", key)
		if asked.text("id") == "" || again.text("id") != asked.text("id") {
			t.Errorf("a repeated request created another analysis: %s, %s", asked.raw, again.raw)
			return
		}
		l.mu.Lock()
		l.analyses[c] = append(l.analyses[c], asked.text("id"))
		l.mu.Unlock()
		path := "/v1/analyses/" + asked.text("id")
		l.request(t, c, http.MethodGet, path, nil)
		if i == 1 {
			l.request(t, c, http.MethodPost, path+"/cancel", nil)
		}
		for _, read := range []string{path, "/v1/videos/" + id, "/v1/credits", "/v1/events?limit=10", "/v1/analyses?limit=5"} {
			l.request(t, c, http.MethodGet, read, nil)
		}
	}
	made := l.request(t, c, http.MethodPost, "/v1/api-keys", map[string]any{"name": fmt.Sprint("key ", round)})
	if keyID := made.text("id"); keyID != "" {
		l.request(t, c, http.MethodDelete, "/v1/api-keys/"+keyID, nil)
	}
}
