package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// takeover is the longest time after which another node has made the attempts of a node that was killed.
const takeover = 30 * time.Second

// rival counts the attempts for one event that run at the same time.
type rival struct {
	*hooks
	pause time.Duration

	mu      sync.Mutex
	running map[string]int
	most    int
}

// ServeHTTP holds each attempt for a moment, in which another node could make a second one.
func (r *rival) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	key := req.URL.Path + " " + req.Header.Get("webhook-id")
	r.mu.Lock()
	r.running[key]++
	r.most = max(r.most, r.running[key])
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.running[key]--
	}()
	select {
	case <-time.After(r.pause):
		r.hooks.ServeHTTP(w, req)
	case <-req.Context().Done(): // the node was killed
	}
}

// TestWebhooksOnTwoNodes: two processes on one database share the deliveries and never attempt one at the same time.
// When one is killed, the other makes its attempts.
func TestWebhooksOnTwoNodes(t *testing.T) {
	t.Parallel()
	h := &rival{hooks: newHooks(t), pause: 300 * time.Millisecond, running: map[string]int{}}
	h.Config.Handler = h
	settings := []string{"VQA_EGRESS_ALLOW=" + h.Listener.Addr().String(), "VQA_EGRESS_CA_FILE=" + h.caFile, "VQA_WEBHOOK_RETRIES=1s,1s,1s,1s"}
	a := ownService(t, settings...)
	b, err := newService(append(settings, "VQA_DATA_DIR="+a.dir)...)
	require.NoError(t, err)
	require.NoError(t, b.start())
	sandbox := (&apiClient{service: a}).call(t, http.MethodPost, "/v1/sandbox", nil)
	onA := &apiClient{a, issued{APIKey: sandbox.text("api_key")}}
	onB := &apiClient{b, onA.key}
	endpoints := []string{"/1", "/2", "/3"}
	for _, path := range endpoints {
		made := onA.call(t, http.MethodPost, "/v1/webhook_endpoints", map[string]any{"url": h.URL + path, "events": []string{"analysis.completed"}})
		require.Equal(t, http.StatusCreated, made.status, "%s", made.raw)
	}
	const events = 24
	for i := range events {
		got := []*apiClient{onA, onB}[i%2].ask(t, sandbox.text("fixture_video_id"), fmt.Sprintf("Are there at least %d balls?", i+2))
		require.Equal(t, http.StatusOK, got.status, "%s", got.raw)
	}
	running := func() (n int) {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, r := range h.running {
			n += r
		}
		return n
	}
	require.True(t, poll(stopTimeout, func() bool { return running() >= 2*len(endpoints) }), "both nodes make attempts")
	killed := time.Now()
	b.kill()
	arrived := func() (n int) {
		for _, path := range endpoints {
			n += h.accepted(path)
		}
		return n
	}
	require.True(t, poll(takeover, func() bool { return arrived() == events*len(endpoints) }), "%d of %d arrived\n%s", arrived(), events*len(endpoints), a.said)
	t.Logf("all attempts of the killed node were made %v after it", time.Since(killed).Round(time.Second/10))
	h.mu.Lock()
	require.Equal(t, 1, h.most, "no event is attempted twice at the same time")
	h.mu.Unlock()
	var verification struct{ Findings []any }
	require.NoError(t, json.Unmarshal(a.tool(t, "webhooks", "verify", "--json"), &verification))
	require.Empty(t, verification.Findings)
}
