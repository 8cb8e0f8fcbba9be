package httpapi_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/stream"
	"vqa/handlers/httpapi"
)

// Preflight answers with the step.
func (n *liveNode) Preflight(ctx context.Context, accountID string, p httpapi.PreflightStep) (httpapi.Preflight, string, error) {
	if p.ID == "elsewhere" {
		return httpapi.Preflight{}, "http://other", nil
	}
	state := httpapi.Preflight{ID: accountID, ICEServers: n.ICEServers(ctx, stream.State{Node: "here"}), ExpiresAt: time.Unix(0, 0), Answer: p.Offer}
	switch p.ID {
	case "done":
		state.Report = &httpapi.PreflightReport{Connected: true, UDP: true, Took: 80 * time.Millisecond}
	case "failed":
		state.Report = &httpapi.PreflightReport{Hint: "A firewall.", LocalCandidates: []string{"udp 192.0.2.1:5000 host"}}
	}
	n.step = p
	return state, "", n.refused
}

// Forward says what it got.
func (n *liveNode) Forward(_ http.ResponseWriter, r *http.Request, node string) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	return fault.New(fault.CapacityExhausted, r.Method+" "+node+r.URL.Path+" "+string(body))
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	var node *liveNode
	w := open(t, func(o *httpapi.Options) { node = o.Live.(*liveNode) })
	c := w.customer(0) // without credits
	post := func(body string) response { return c.do(http.MethodPost, "/v1/streams/preflight", body) }
	started := post(`{}`)
	require.Equal(t, http.StatusOK, started.StatusCode, string(started.raw))
	require.Equal(t, "stream_preflight", started.at("object"))
	require.Equal(t, c.key.AccountID, started.at("id"))
	require.Equal(t, "secret", started.at("ice_servers.1.credential"))
	require.Nil(t, started.at("sdp"))
	require.Nil(t, started.at("report"))

	offered := post(`{"id": "1", "transport": "relay", "sdp": "v=0", "candidates": [{"candidate": "c", "sdpMid": "0", "sdpMLineIndex": 0}]}`)
	require.Equal(t, "v=0", offered.at("sdp"))
	require.Equal(t, httpapi.PreflightStep{
		ID: "1", Livemode: true, Transport: "relay", Offer: "v=0", Candidates: []httpapi.ICECandidate{{Candidate: "c", SDPMid: new("0"), SDPMLineIndex: new(uint16(0))}},
	}, node.step)
	require.Equal(t, map[string]any{
		"connected": true, "udp": true, "tcp": false, "relay": false, "connect_ms": 80.0, "local_candidates": []any{}, "hint": nil,
	}, post(`{"id": "done"}`).at("report"))
	failed := post(`{"id": "failed"}`)
	require.Equal(t, "A firewall.", failed.at("report.hint"))
	require.Nil(t, failed.at("report.connect_ms"))

	elsewhere := post(`{"id": "elsewhere", "sdp": "v=0"}`)
	w.refused(elsewhere, http.StatusServiceUnavailable, fault.CapacityExhausted, "")
	require.Equal(t, `POST http://other/v1/streams/preflight {"id":"elsewhere","sdp":"v=0"}`, elsewhere.at("error.message"))

	for body, param := range map[string]string{
		`{"transport": "smoke"}`: "transport", `{"sdp": ""}`: "sdp", `{"candidates": [{}]}`: "candidates.0.candidate", `{"slot": 1}`: "slot",
		`{"candidates": [{"candidate": "c", "sdpMLineIndex": 70000}]}`: "candidates.0.sdpMLineIndex",
	} {
		w.refused(post(body), http.StatusBadRequest, fault.ValidationFailed, "")
		require.Equal(t, param, post(body).at("error.errors.0.param"), body)
	}
	w.refused(w.do(http.MethodPost, "/v1/streams/preflight", `{}`), http.StatusUnauthorized, fault.InvalidAPIKey, "")
}
