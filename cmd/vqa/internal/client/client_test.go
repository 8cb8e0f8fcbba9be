package client

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func apiServer(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return New(s.URL + "/")
}

func TestClientErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status     int
		body, want string
	}{
		"message":        {404, `{"error":{"code":"resource_not_found","message":"No such thing.","status":404}}`, "resource_not_found: No such thing."},
		"field":          {400, `{"error":{"code":"query_invalid","message":"Wrong.","status":400,"param":"query.subjects"}}`, "query_invalid: Wrong. (query.subjects)"},
		"first violated": {400, `{"error":{"code":"validation_failed","message":"Wrong.","status":400,"errors":[{"param":"url","code":"format","message":"x"}]}}`, "validation_failed: Wrong. (url)"},
		"not ours":       {502, `<html>`, "http_502: The response does not come from this service."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := apiServer(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body) // the client fails when this fails
			})
			_, err := c.Video(t.Context(), "video_x")
			require.EqualError(t, err, tt.want)
		})
	}
}

func TestClientWaitsForRetryAfter(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	var keys [2]string
	c := apiServer(t, func(w http.ResponseWriter, r *http.Request) {
		n := calls.Add(1)
		keys[n-1] = r.Header.Get("Idempotency-Key")
		if n == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"error":{"code":"inference_unavailable","message":"Not yet.","status":503}}`)
			return
		}
		_, _ = io.WriteString(w, `{"id":"an_1","status":"queued"}`)
	})
	var told []string
	c.Busy = func(why *Error, after time.Duration) {
		told = append(told, why.Code)
		require.GreaterOrEqual(t, after, time.Second)
	}
	a, err := c.CreateAnalysis(t.Context(), map[string]any{"prompt": "?"}, "k1", 30*time.Second)
	require.NoError(t, err)
	require.Equal(t, "an_1", a.ID)
	require.JSONEq(t, `{"id":"an_1","status":"queued"}`, string(a.Raw))
	require.Equal(t, []string{"inference_unavailable"}, told)
	require.Equal(t, [2]string{"k1", "k1"}, keys, "the repeated request has the same key")
}

func TestClientDoesNotWaitLongerThanItsPatience(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	c := apiServer(t, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"error":{"code":"rate_limit_exceeded","message":"Slow down.","status":429}}`)
	})
	_, err := c.CheckKey(t.Context())
	require.True(t, HasCode(err, "rate_limit_exceeded"))
	require.Equal(t, int32(1), calls.Load())
}

func TestHealthyAcceptsOnlyThisService(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"status":"ok","checks":{}}`: true, `{"status":"ok"}`: false, `ok`: false, `{"status":"down","checks":{}}`: false,
	} {
		c := apiServer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
		require.Equal(t, want, c.Healthy(t.Context()), body)
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	require.False(t, New(gone.URL).Healthy(t.Context()))
}

func TestUploadFollowsInstructions(t *testing.T) {
	t.Parallel()
	var method, kind, body, auth string
	c := apiServer(t, func(_ http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		method, kind, body, auth = r.Method, r.Header.Get("Content-Type"), string(raw), r.Header.Get("Authorization")
	})
	c.Key = "svc_live_x"
	var v Video
	require.Error(t, c.Upload(t.Context(), v, strings.NewReader(""), 0), "no instructions")
	v.Upload = &struct {
		Method  string            `json:"method"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	}{http.MethodPut, c.Base + "/signed", map[string]string{"Content-Type": "video/mp4"}}
	require.NoError(t, c.Upload(t.Context(), v, strings.NewReader("bytes"), 5))
	require.Equal(t, []string{"PUT", "video/mp4", "bytes", ""}, []string{method, kind, body, auth}, "the upload URL does not get the API key")
}
