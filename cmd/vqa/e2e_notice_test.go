package main_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFailingDeliveriesEnd: a delivery that always fails ends as dead after its retries, also one whose server responds
// with 410, which does not disable the endpoint. What a server sends after its response does not matter.
func TestFailingDeliveriesEnd(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	h.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/chatty" {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nmore than was asked for")
			}
			return
		}
		w.WriteHeader(http.StatusGone)
	})
	s := ownService(t, "VQA_EGRESS_ALLOW="+h.Listener.Addr().String(), "VQA_EGRESS_CA_FILE="+h.caFile, "VQA_WEBHOOK_RETRIES=1s,2s")
	c := s.account(t, 10)
	ended := func(path string) (endpoint string, delivery answer) {
		made := c.call(t, http.MethodPost, "/v1/webhook_endpoints", map[string]any{"url": h.URL + path, "events": []string{"video.ready"}})
		require.Equal(t, http.StatusCreated, made.status, "%s", made.raw)
		endpoint = "/v1/webhook_endpoints/" + made.text("id")
		sent := c.call(t, http.MethodPost, endpoint+"/test", nil)
		require.True(t, poll(stopTimeout, func() bool {
			delivery = c.call(t, http.MethodGet, endpoint+"/deliveries/"+sent.text("id"), nil)
			return delivery.text("status") == "dead" || delivery.text("status") == "delivered"
		}), "%s", delivery.raw)
		return endpoint, delivery
	}
	_, chatty := ended("/chatty")
	require.Equal(t, "delivered", chatty.text("status"))
	require.NotContains(t, s.said.String(), "more than was asked for", "a server cannot write into the log")
	gone, dead := ended("/gone")
	require.Equal(t, []any{"retries_exhausted", 3.0, 410.0}, []any{dead.at("dead_reason"), dead.at("attempt_count"), dead.at("last_response_status")})
	require.Equal(t, "enabled", c.call(t, http.MethodGet, gone, nil).text("status"))
}
