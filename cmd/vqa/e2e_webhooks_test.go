package main_test

import (
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
)

// hooks is a TLS server that receives webhooks. It refuses the first attempt of each event.
type hooks struct {
	*httptest.Server
	caFile string

	mu  sync.Mutex
	got map[string]map[string][]hook // by path and event
}

// hook is a received webhook.
type hook struct {
	header http.Header
	body   []byte
}

func newHooks(t *testing.T) *hooks {
	t.Helper()
	h := &hooks{got: map[string]map[string][]hook{}, caFile: filepath.Join(t.TempDir(), "ca.pem")}
	h.Server = httptest.NewTLSServer(h)
	t.Cleanup(h.Close)
	require.NoError(t, os.WriteFile(h.caFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw}), 0o600))
	return h
}

func (h *hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.got[r.URL.Path] == nil {
		h.got[r.URL.Path] = map[string][]hook{}
	}
	events := h.got[r.URL.Path]
	eventID := r.Header.Get("webhook-id")
	events[eventID] = append(events[eventID], hook{r.Header.Clone(), body})
	if len(events[eventID]) == 1 {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// events returns the webhooks of a path by event.
func (h *hooks) events(path string) map[string][]hook {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make(map[string][]hook, len(h.got[path]))
	for eventID, list := range h.got[path] {
		out[eventID] = append([]hook(nil), list...)
	}
	return out
}

// accepted counts the events of a path that were sent again after the refused attempt.
func (h *hooks) accepted(path string) (n int) {
	for _, list := range h.events(path) {
		if len(list) > 1 {
			n++
		}
	}
	return n
}

var (
	hookEvents = flag.Int("webhooks.events", 40, "events that the test of webhooks delivers")
	hookKills  = flag.Int("webhooks.kills", 2, "how often the test of webhooks kills the service")
)

// TestWebhooks delivers the events of a real service to a TLS server, signed and with retries. The
// service is killed in between.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	s, err := newService("VQA_EGRESS_ALLOW="+h.Listener.Addr().String(), "VQA_EGRESS_CA_FILE="+h.caFile, "VQA_WEBHOOK_RETRIES=1s,2s,2s,2s")
	require.NoError(t, err)
	require.NoError(t, s.start())
	t.Cleanup(func() { _ = s.terminate() })
	sandbox := (&apiClient{service: s}).call(t, http.MethodPost, "/v1/sandbox", nil)
	c := &apiClient{s, issued{APIKey: sandbox.text("api_key")}}
	videoID := sandbox.text("fixture_video_id")
	endpoint := c.call(t, http.MethodPost, "/v1/webhook_endpoints", map[string]any{"url": h.URL + "/hook", "events": []string{"analysis.completed"}})
	require.Equal(t, http.StatusCreated, endpoint.status, "%s", endpoint.raw)
	triggered := c.trigger(t)
	l := c.listen(t, triggered)

	a := c.call(t, http.MethodPost, "/v1/analyses", map[string]any{
		"video_id": videoID, "prompt": "Is there a ball?", "webhook": map[string]any{"url": h.URL + "/override"},
	})
	require.Equal(t, http.StatusOK, a.status, "%s", a.raw)
	more, kills := *hookEvents, *hookKills
	for i := range more {
		var got answer
		require.True(t, poll(stopTimeout, func() bool { // the client has a rate
			got = c.ask(t, videoID, fmt.Sprintf("Are there at least %d balls?", i+2))
			return got.status != http.StatusTooManyRequests
		}))
		require.Equal(t, http.StatusOK, got.status, "%s", got.raw)
		if (i+1)*kills/more > i*kills/more {
			s.kill()
			require.NoError(t, s.start())
		}
	}
	require.True(t, poll(stopTimeout, func() bool { return h.accepted("/hook") == more+2 && h.accepted("/override") == 1 }),
		"%d of %d arrived:\n%s", h.accepted("/hook"), more+2, s.said)
	sent := h.events("/hook")
	require.Contains(t, sent, triggered)
	delete(sent, triggered)
	l.require(t, sent)

	verifier, err := standardwebhooks.NewWebhook(endpoint.text("secret"))
	require.NoError(t, err)
	for eventID, attempts := range h.events("/hook") {
		shown := c.call(t, http.MethodGet, "/v1/events/"+eventID, nil)
		require.Equal(t, http.StatusOK, shown.status, "%s", shown.raw)
		for _, x := range attempts {
			require.NoError(t, verifier.Verify(x.body, x.header))
			require.Equal(t, attempts[0].body, x.body, "the body of an event never changes")
			require.JSONEq(t, string(shown.raw), string(x.body))
		}
	}
	for eventID, attempts := range h.events("/override") {
		require.Contains(t, h.events("/hook"), eventID)
		require.NotContains(t, attempts[0].header, "Webhook-Signature")
	}
	require.True(t, poll(toolTimeout, func() bool {
		shown := c.call(t, http.MethodGet, "/v1/webhook_endpoints/"+endpoint.text("id"), nil)
		return shown.at("last_success_at") != nil
	}))

	requireRedelivery(t, c, h, "/v1/webhook_endpoints/"+endpoint.text("id"), verifier)
	var verification struct {
		Events, Pairs int
		Findings      []any
	}
	require.NoError(t, json.Unmarshal(s.tool(t, "webhooks", "verify", "--json"), &verification))
	// The fixture video became ready, too; its event has no target.
	require.Equal(t, []int{more + 4, more + 4, 0}, []int{verification.Events, verification.Pairs, len(verification.Findings)})
	require.Contains(t, string(s.tool(t, "why", a.text("id"))), "─ delivery.delivered #")
}

// requireRedelivery sends a sample event and misses an event while the endpoint is disabled. It is delivered
// after the endpoint is enabled with redeliver.
func requireRedelivery(t *testing.T, c *apiClient, h *hooks, endpoint string, verifier *standardwebhooks.Webhook) {
	t.Helper()
	arrived := func(d answer) {
		require.True(t, poll(stopTimeout, func() bool {
			return c.call(t, http.MethodGet, endpoint+"/deliveries/"+d.text("id"), nil).text("status") == "delivered"
		}))
		for _, x := range h.events("/hook")[d.text("event_id")] {
			require.NoError(t, verifier.Verify(x.body, x.header))
		}
	}
	sample := c.call(t, http.MethodPost, endpoint+"/test", map[string]any{})
	require.Equal(t, http.StatusAccepted, sample.status, "%s", sample.raw)
	arrived(sample)
	attempts := c.call(t, http.MethodGet, endpoint+"/deliveries/"+sample.text("id")+"/attempts", nil)
	require.Len(t, attempts.at("data"), 2, "the receiver refuses the first attempt")

	c.call(t, http.MethodPost, endpoint+"/disable", nil)
	sandbox := c.call(t, http.MethodGet, "/v1/videos", nil)
	videoID := sandbox.at("data").([]any)[0].(map[string]any)["id"].(string)
	c.ask(t, videoID, "Are there at least 99 balls?")
	var missed answer
	require.True(t, poll(stopTimeout, func() bool {
		dead := c.call(t, http.MethodGet, endpoint+"/deliveries?status=dead", nil).at("data").([]any)
		if len(dead) != 1 {
			return false
		}
		missed = c.call(t, http.MethodGet, endpoint+"/deliveries/"+dead[0].(map[string]any)["id"].(string), nil)
		return missed.text("dead_reason") == "endpoint_disabled"
	}))
	enabled := c.call(t, http.MethodPost, endpoint+"/enable", map[string]any{"redeliver": true})
	require.Equal(t, http.StatusOK, enabled.status, "%s", enabled.raw)
	arrived(missed)
}
