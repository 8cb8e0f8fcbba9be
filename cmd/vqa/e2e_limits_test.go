package main_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLimitsAndReplaysOutliveAProcess calls a service with small limits, kills it, and calls the next
// process on the same data.
func TestLimitsAndReplaysOutliveAProcess(t *testing.T) {
	t.Parallel()
	s := ownService(t, "VQA_RATE_WRITES=6", "VQA_RATE_READS=3")
	c := s.account(t, 0)
	body := map[string]any{"content_type": "video/mp4"}
	create := func() answer { return c.call(t, http.MethodPost, "/v1/videos", body, "Idempotency-Key", "k") }
	first := create()
	require.Equal(t, http.StatusCreated, first.status, "%s", first.raw)
	require.Equal(t, "6", first.header.Get("X-RateLimit-Limit"))
	s.kill()
	require.NoError(t, s.start())

	again := create()
	require.Equal(t, http.StatusCreated, again.status, "%s", again.raw)
	require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
	require.Equal(t, string(first.raw), string(again.raw))
	left, err := strconv.Atoi(again.header.Get("X-RateLimit-Remaining"))
	require.NoError(t, err)
	require.Less(t, left, 5, "the request before the crash is counted")

	// The window slides, so a few more requests may pass.
	refused := poll(10*time.Second, func() bool { return c.call(t, http.MethodGet, "/v1/videos", nil).status == http.StatusTooManyRequests })
	require.True(t, refused)
	got := c.call(t, http.MethodGet, "/v1/videos", nil)
	wait, err := strconv.Atoi(got.header.Get("Retry-After"))
	require.NoError(t, err, "%d %s", got.status, got.raw)
	require.Positive(t, wait)
	require.Equal(t, "rate_limit_exceeded", got.code())
	for range 5 {
		probe, err := http.Get("http://" + s.addr + "/readyz")
		require.NoError(t, err)
		require.NoError(t, probe.Body.Close())
		require.Equal(t, http.StatusOK, probe.StatusCode, "health checks are never refused")
	}
}
