package httpapi_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/rate"
	"vqa/handlers/httpapi"
	"vqa/handlers/httpapi/edge"
)

// under starts a node with small limits.
func under(rates edge.Rates) func(*httpapi.Options) {
	return func(o *httpapi.Options) { o.Rates = rates }
}

// remaining reads the rate limit headers of a response, which must be consistent.
func (w *world) remaining(got response, limit int) int {
	w.t.Helper()
	require.Equal(w.t, strconv.Itoa(limit), got.Header.Get("X-RateLimit-Limit"))
	reset, err := strconv.ParseInt(got.Header.Get("X-RateLimit-Reset"), 10, 64)
	require.NoError(w.t, err)
	require.WithinRange(w.t, time.Unix(reset, 0), w.now().Add(-time.Second), w.now().Add(rate.Window+2*time.Second))
	n, err := strconv.Atoi(got.Header.Get("X-RateLimit-Remaining"))
	require.NoError(w.t, err)
	return n
}

func TestEveryResponseHasRateLimitHeaders(t *testing.T) {
	t.Parallel()
	w := open(t, func(o *httpapi.Options) {
		o.Rates = edge.Rates{Reads: 61, Writes: 31, AnalysesCreate: 11}
		o.Metrics = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("no metrics") })
	})
	c := w.customer(0)
	tests := []struct {
		method, path, body string
		status, limit      int
	}{
		{http.MethodGet, "/v1/videos", "", 200, 61},
		{http.MethodHead, "/v1/videos", "", 200, 61},
		{http.MethodGet, "/v1/models", "", 200, 61},
		{http.MethodGet, "/v1/nothing", "", 404, 61},
		{http.MethodGet, "/v1/videos/video_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A", "", 404, 61},
		{http.MethodPut, "/v1/videos", "", 405, 31},
		{http.MethodPost, "/v1/videos", `{}`, 400, 31},
		{http.MethodPost, "/v1/videos", `{"content_type": "video/mp4"}`, 201, 31},
		{http.MethodPost, "/v1/analyses", `{`, 400, 11},
		{http.MethodPost, "/v1/analyses/batch", `{`, 400, 11},
		{http.MethodGet, "/healthz", "", 200, 61},
		{http.MethodGet, "/metrics", "", 500, 61},
		{http.MethodGet, "/objects/uploads/video_x?signature=x", "", 403, 61},
	}
	for _, tt := range tests {
		got := c.do(tt.method, tt.path, tt.body)
		require.Equal(t, tt.status, got.StatusCode, "%s %s", tt.method, tt.path)
		require.Less(t, w.remaining(got, tt.limit), tt.limit, "%s %s", tt.method, tt.path)
	}
	w.remaining(w.do(http.MethodGet, "/v1/videos", ""), 61)
	w.database.cut()
	lost := c.do(http.MethodGet, "/v1/videos", "")
	w.refused(lost, 503, fault.DBUnavailable, "")
	require.Equal(t, 60, w.remaining(lost, 61), "the node counts locally")
	require.Equal(t, http.StatusOK, c.do(http.MethodGet, "/healthz", "").StatusCode)
}

func TestALimitIsKeptToTheSecond(t *testing.T) {
	t.Parallel()
	w := open(t, under(edge.Rates{Writes: 4}))
	c, other := w.customer(0), w.customer(0)
	create := func(c *client) response { return c.do(http.MethodPost, "/v1/videos", `{"content_type": "video/mp4"}`) }
	for left := 3; left >= 0; left-- {
		got := create(c)
		require.Equal(t, http.StatusCreated, got.StatusCode)
		require.Equal(t, left, w.remaining(got, 4))
	}
	asked := w.now()
	got := create(c)
	w.refused(got, 429, fault.RateLimitExceeded, "")
	require.Zero(t, w.remaining(got, 4))
	reset, err := strconv.ParseInt(got.Header.Get("X-RateLimit-Reset"), 10, 64)
	require.NoError(t, err)
	wait, err := strconv.Atoi(got.Header.Get("Retry-After"))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, c.do(http.MethodGet, "/v1/videos", "").StatusCode, "another class has its own limit")
	require.Equal(t, http.StatusCreated, create(other).StatusCode, "another key has its own limit")
	require.WithinRange(t, time.Unix(reset-int64(wait), 0), asked.Add(-time.Second), w.now(), "both name the same second")
	require.InDelta(t, 50, wait, 11)

	w.advance(time.Duration(wait)*time.Second - 10*time.Second) // a busy machine may take seconds here
	w.refused(create(c), 429, fault.RateLimitExceeded, "")
	w.advance(10 * time.Second)
	require.Equal(t, http.StatusCreated, create(c).StatusCode)
}

func TestALimitHoldsOverAllNodes(t *testing.T) {
	t.Parallel()
	w := open(t, under(edge.Rates{Reads: 6}))
	beside := w.beside(under(edge.Rates{Reads: 6}))
	beside.advance(w.now().Sub(beside.now()))
	c := w.customer(0)
	for i := range 6 {
		node := []*client{c, {beside, c.key}}[i%2]
		got := node.do(http.MethodGet, "/v1/videos", "")
		require.Equal(t, http.StatusOK, got.StatusCode)
		require.Equal(t, 5-i, w.remaining(got, 6))
	}
	w.refused(c.do(http.MethodGet, "/v1/videos", ""), 429, fault.RateLimitExceeded, "")
	beside.refused((&client{beside, c.key}).do(http.MethodGet, "/v1/videos", ""), 429, fault.RateLimitExceeded, "")
}

func TestAnonymousClientsAreCountedByAddress(t *testing.T) {
	t.Parallel()
	w := open(t, under(edge.Rates{Reads: 3}))
	c := w.customer(0)
	for range 3 {
		w.refused(w.do(http.MethodGet, "/v1/videos", "", "Authorization", "Bearer svc_live_guess"), 401, fault.InvalidAPIKey, "")
	}
	w.refused(w.do(http.MethodGet, "/v1/videos", "", "Authorization", "Bearer svc_live_guess"), 429, fault.RateLimitExceeded, "")
	w.refused(w.do(http.MethodGet, "/v1/models", ""), 429, fault.RateLimitExceeded, "")
	w.refused(w.do(http.MethodGet, "/v1/nothing", ""), 429, fault.RateLimitExceeded, "")
	require.Equal(t, http.StatusOK, c.do(http.MethodGet, "/v1/videos", "").StatusCode, "a key has its own window")
	for range 5 {
		require.Equal(t, http.StatusOK, w.do(http.MethodGet, "/healthz", "").StatusCode, "probes are never refused")
	}
	w.refused(w.do(http.MethodGet, "/v1/models", "", "X-Forwarded-For", "198.51.100.1"), 429, fault.RateLimitExceeded, "")
}

func TestATokenCountsForItsKey(t *testing.T) {
	t.Parallel()
	w := open(t, under(edge.Rates{Reads: 3}))
	c := w.customer(0)
	minted := c.do(http.MethodPost, "/v1/client_tokens", `{"scopes": ["analyses:read"]}`)
	require.Equal(t, http.StatusCreated, minted.StatusCode, string(minted.raw))
	shown := "Bearer " + minted.at("token").(string)
	require.Equal(t, 2, w.remaining(w.do(http.MethodGet, "/v1/analyses", "", "Authorization", shown), 3))
	require.Equal(t, 1, w.remaining(c.do(http.MethodGet, "/v1/analyses", ""), 3))
	require.Equal(t, 0, w.remaining(w.do(http.MethodGet, "/v1/analyses", "", "Authorization", shown), 3))
	w.refused(c.do(http.MethodGet, "/v1/analyses", ""), 429, fault.RateLimitExceeded, "")
}

// TestARevokedKeyCountsByAddress: a node counts a request while it authenticates it. A key that was valid before and
// is revoked now counts for the address of its client, as any wrong credential does.
func TestARevokedKeyCountsByAddress(t *testing.T) {
	t.Parallel()
	w := open(t, under(edge.Rates{Reads: 100}))
	c, other := w.customer(0), &client{w: w}
	for i := range 3 {
		require.Equal(t, 99-i, w.remaining(c.do(http.MethodGet, "/v1/videos", ""), 100), "each request counts once")
	}
	require.Equal(t, 99, w.remaining(other.do(http.MethodGet, "/v1/videos", ""), 100))
	require.NoError(t, w.service.RevokeKey(t.Context(), c.key.AccountID, c.key.KeyID, "test", ""))
	refused := c.do(http.MethodGet, "/v1/videos", "")
	w.refused(refused, 401, fault.KeyRevoked, "")
	require.Equal(t, 98, w.remaining(refused, 100))
}

func TestParsingIsCountedByAddress(t *testing.T) {
	t.Parallel()
	w := open(t, under(edge.Rates{Parse: 2}))
	for _, c := range []*client{w.customer(0), w.customer(0)} {
		require.Equal(t, http.StatusOK, c.do(http.MethodPost, "/v1/parse", `{"prompt": "Is there a dog?"}`).StatusCode)
	}
	w.refused(w.customer(0).do(http.MethodPost, "/v1/parse", `{"prompt": "Is there a dog?"}`), 429, fault.RateLimitExceeded, "")
}

func TestANodeCountsLocallyWithoutADatabase(t *testing.T) {
	t.Parallel()
	w := open(t, under(edge.Rates{Reads: 3}))
	w.database.cut()
	for range 3 {
		require.Equal(t, http.StatusOK, w.do(http.MethodGet, "/v1/models", "").StatusCode)
	}
	w.refused(w.do(http.MethodGet, "/v1/models", ""), 429, fault.RateLimitExceeded, "")
	require.Equal(t, http.StatusOK, w.do(http.MethodGet, "/healthz", "").StatusCode)
	require.Contains(t, w.logged.String(), "counting requests on this node only")
}
