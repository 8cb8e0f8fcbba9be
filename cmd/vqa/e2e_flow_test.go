package main_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMainJob asks about a video with known contents, and checks the bill.
func TestMainJob(t *testing.T) {
	t.Parallel()
	c := sharedService(t).account(t, 1000)
	videoID := c.readyVideo(t, clip(t, signsClip))
	v := c.call(t, http.MethodGet, "/v1/videos/"+videoID, nil)
	require.InDelta(t, signsClipS, v.number("duration_s"), 0.01)
	require.InDelta(t, 512, v.number("width"), 0)
	require.InDelta(t, 288, v.number("height"), 0)
	require.Equal(t, true, v.at("livemode"))
	require.Nil(t, v.at("upload"))

	const seconds = 7 // 6.5 s, rounded up
	count := func(n float64) any { return n }
	tests := []struct {
		prompt, answer string
		count          any
		clip           bool
	}{
		{"Is there a stop sign?", "yes", nil, true},
		{"Is there a dog?", "no", nil, false},
		{"Is there no dog?", "yes", nil, false},
		{"How many stop signs are there?", "yes", count(2), false},
		{"How many dogs are there?", "no", count(0), false},
		{"Are there at least two stop signs?", "yes", count(2), false},
		{"Are there at least three stop signs?", "no", count(2), false},
	}
	balance := 1000.0
	for _, tt := range tests {
		a := c.ask(t, videoID, tt.prompt, "Prefer", "wait=100")
		require.Equal(t, http.StatusOK, a.status, "%s", a.raw)
		require.Equal(t, "completed", a.text("status"), "%s", a.raw)
		require.Equal(t, tt.answer, a.text("result.answer"), "%s", a.raw)
		require.Equal(t, tt.count, a.at("result.detected_count"), "%s", a.raw)
		require.GreaterOrEqual(t, a.number("result.confidence"), 0.6, "%s", a.raw)
		require.InDelta(t, seconds, a.number("usage.billed_seconds"), 0)
		balance -= seconds
		require.InDelta(t, balance, a.number("usage.credit_balance_after"), 0)
		if tt.clip {
			clips := a.at("result.clips").([]any)
			require.Len(t, clips, 1)
			require.InDelta(t, 2, a.number("result.clips.0.start_s"), 0.6)
			require.InDelta(t, 5, a.number("result.clips.0.end_s"), 0.6)
			checkArtifacts(t, a)
		}
	}
	unsupported := c.ask(t, videoID, "What is happening?", "Prefer", "wait=100")
	require.Equal(t, "indeterminate", unsupported.text("result.answer"), "%s", unsupported.raw)
	require.Zero(t, unsupported.number("usage.billed_seconds"))
	require.NotNil(t, unsupported.at("result.unsupported_action"))

	checkBill(t, c, 1000, seconds, len(tests))
	checkPlayback(t, c, videoID)
}

// checkBill checks the ledger of the account.
func checkBill(t *testing.T, c *apiClient, grant, seconds float64, analyses int) {
	t.Helper()
	credits := c.credits(t)
	used := seconds * float64(analyses)
	require.InDelta(t, grant-used, credits.number("balance_seconds"), 0)
	require.InDelta(t, grant, credits.number("grant_seconds"), 0)
	require.InDelta(t, used, credits.number("used_seconds"), 0)
	require.InDelta(t, 0, credits.number("held_seconds"), 0)
	transactions := credits.at("transactions").([]any)
	require.Len(t, transactions, analyses+1)
	balance := grant - used
	for _, txn := range transactions {
		x := txn.(map[string]any)
		require.InDelta(t, balance, x["balance_after_seconds"], 0)
		balance -= x["seconds_delta"].(float64)
	}
	require.InDelta(t, 0, balance, 0)
	require.Equal(t, "signup_grant", transactions[analyses].(map[string]any)["kind"])
}

// checkPlayback plays the source and then deletes it.
func checkPlayback(t *testing.T, c *apiClient, videoID string) {
	t.Helper()
	v := c.call(t, http.MethodGet, "/v1/videos/"+videoID, nil)
	play := func() answer {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.text("media.url"), nil)
		require.NoError(t, err)
		a, err := exchange(req)
		require.NoError(t, err)
		return a
	}
	played := play()
	require.Equal(t, http.StatusOK, played.status)
	require.Equal(t, "video/mp4", played.header.Get("Content-Type"))
	require.Equal(t, clipBytes(t, signsClip), played.raw)

	deleted := c.call(t, http.MethodDelete, "/v1/videos/"+videoID, nil)
	require.Equal(t, http.StatusOK, deleted.status, "%s", deleted.raw)
	require.Equal(t, true, deleted.at("deleted"))
	require.Equal(t, http.StatusNotFound, c.call(t, http.MethodGet, "/v1/videos/"+videoID, nil).status)
	require.Equal(t, http.StatusNotFound, play().status, "the bytes are gone at once")
}

func requireRetryAfter(t testing.TB, a answer) {
	t.Helper()
	var seconds int
	_, err := fmt.Sscan(a.header.Get("Retry-After"), &seconds)
	require.NoError(t, err)
	require.GreaterOrEqual(t, seconds, 1)
}
