package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/handlers/httpapi"
	"vqa/handlers/httpapi/edge"
)

func TestIdempotentCreates(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(1000)
	const body = `{"content_type": "video/mp4", "filename": "a.mp4"}`
	first := c.do(http.MethodPost, "/v1/videos", body, "Idempotency-Key", "k-1")
	require.Equal(t, http.StatusCreated, first.StatusCode)
	again := c.do(http.MethodPost, "/v1/videos", body, "Idempotency-Key", "k-1")
	require.Equal(t, http.StatusCreated, again.StatusCode)
	require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
	require.Equal(t, string(first.raw), string(again.raw))
	w.refused(c.do(http.MethodPost, "/v1/videos", `{"content_type": "video/quicktime"}`, "Idempotency-Key", "k-1"), 409, fault.IdempotencyKeyReused, "")
	w.refused(c.do(http.MethodPost, "/v1/analyses", body, "Idempotency-Key", "k-1"), 409, fault.IdempotencyKeyReused, "")
	require.Len(t, c.do(http.MethodGet, "/v1/videos", "").at("data"), 1)

	w.refused(c.do(http.MethodPost, "/v1/videos", `{}`, "Idempotency-Key", "k-2"), 400, fault.ValidationFailed, "content_type")
	fixed := c.do(http.MethodPost, "/v1/videos", body, "Idempotency-Key", "k-2")
	require.Equal(t, http.StatusCreated, fixed.StatusCode, "a refused request unlocks its key")

	other := w.customer(0).do(http.MethodPost, "/v1/videos", body, "Idempotency-Key", "k-1")
	require.Empty(t, other.Header.Get("Idempotency-Replayed"), "keys belong to an account")
	for _, key := range []string{"", "with space", strings.Repeat("k", 256), "é"} {
		w.refused(c.do(http.MethodPost, "/v1/videos", body, "Idempotency-Key", key), 400, fault.ValidationFailed, "Idempotency-Key")
	}
	w.advance(25 * time.Hour)
	after := c.do(http.MethodPost, "/v1/videos", body, "Idempotency-Key", "k-1")
	require.NotEqual(t, first.at("id"), after.at("id"), "the window is 24 hours")
}

func TestReplayAfterACrashShowsTheResource(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(1000)
	videoID := c.ready()
	body := fmt.Sprintf(`{"video_id": %q, "prompt": "Is there a dog?"}`, videoID)
	first := c.do(http.MethodPost, "/v1/analyses", body, "Idempotency-Key", "k-1")
	// The state after a crash between commit and response.
	require.NoError(t, w.service.Store.SaveResponse(t.Context(), c.key.AccountID, "k-1", 0, nil))
	again := c.do(http.MethodPost, "/v1/analyses", body, "Idempotency-Key", "k-1")
	require.Equal(t, http.StatusAccepted, again.StatusCode)
	require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
	require.Equal(t, first.at("id"), again.at("id"))
	require.Equal(t, 1, c.balance().Holds.Len())
}

func TestInvalidKeysAreRefused(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	get := func(header string) response {
		return w.do(http.MethodGet, "/v1/videos", "", "Authorization", header)
	}
	w.refused(w.do(http.MethodGet, "/v1/videos", ""), 401, fault.InvalidAPIKey, "")
	w.refused(get("Bearer svc_live_unknown"), 401, fault.InvalidAPIKey, "")
	w.refused(get("Bearer "+c.key.Secret+"x"), 401, fault.InvalidAPIKey, "")
	w.refused(get("Basic "+c.key.Secret), 401, fault.InvalidAPIKey, "")
	// The credential is checked before the request.
	w.refused(w.do(http.MethodPost, "/v1/videos?limit=x", `{`), 401, fault.InvalidAPIKey, "")
	require.Equal(t, "Bearer", get("").Header.Get("WWW-Authenticate"))
	require.NoError(t, w.service.RevokeKey(t.Context(), c.key.AccountID, c.key.KeyID, "test", ""))
	w.refused(c.do(http.MethodGet, "/v1/videos", ""), 401, fault.KeyRevoked, "")

	sandbox := w.do(http.MethodPost, "/v1/sandbox", "")
	w.advance(7*24*time.Hour + time.Second)
	w.refused(get("Bearer "+sandbox.at("api_key").(string)), 401, fault.KeyExpired, "")
	require.NotContains(t, w.logged.String(), c.key.Secret)
}

func TestRoutesOutsideTheContract(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.refused(w.do(http.MethodGet, "/v1/nothing", ""), 404, fault.ResourceNotFound, "")
	w.refused(w.do(http.MethodGet, "/v1/videos/", ""), 404, fault.ResourceNotFound, "")
	got := w.do(http.MethodPut, "/v1/videos", "")
	w.refused(got, 405, fault.ValidationFailed, "")
	require.Equal(t, "GET, POST, HEAD", got.Header.Get("Allow"))
	head := w.do(http.MethodHead, "/v1/errors", "")
	require.Equal(t, http.StatusOK, head.StatusCode)
	require.Empty(t, head.raw)
	secret := w.do(http.MethodGet, "/objects/uploads/video_x?signature=hunter2", "")
	require.Equal(t, http.StatusForbidden, secret.StatusCode)
	require.NotContains(t, w.logged.String(), "hunter2")
}

func TestBodiesAtTheEdge(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	w.refused(c.do(http.MethodPost, "/v1/videos", `{"content_type":`), 400, fault.ValidationFailed, "")
	w.refused(c.do(http.MethodPost, "/v1/videos", ""), 400, fault.ValidationFailed, "")
	w.refused(c.do(http.MethodPost, "/v1/videos", "a=b", "Content-Type", "application/x-www-form-urlencoded"), 415, fault.UnsupportedMediaType, "")
	w.refused(c.do(http.MethodPost, "/v1/videos", strings.Repeat(" ", 1<<20+1)), 413, fault.PayloadTooLarge, "")
	w.refused(c.do(http.MethodPost, "/v1/videos", `{"content_type": "video/mp4", "size_bytes": 2147483649}`), 400, fault.VideoTooLarge, "size_bytes")
	w.refused(c.do(http.MethodPost, "/v1/videos", `{"url": "http://example.com/a.mp4"}`), 400, fault.URLForbidden, "url")
	all := c.do(http.MethodPost, "/v1/videos", `{"extra": 1, "filename": 2, "content_type": "x"}`, "Idempotency-Key", "a key")
	require.Len(t, all.at("error.errors"), 4, "the violation of the header is listed")
	lists := c.do(http.MethodGet, "/v1/analyses?limit=0&status=done&starting_after=x", "")
	require.Len(t, lists.at("error.errors"), 3)
	w.refused(c.do(http.MethodPost, "/v1/videos", "--x--", "Content-Type", "multipart/form-data; boundary=x"), 415, fault.UnsupportedMediaType, "")
	w.refused(c.do(http.MethodPost, "/v1/sandbox", `{"a": 1}`), 400, fault.ValidationFailed, "")
	require.Equal(t, http.StatusCreated, w.do(http.MethodPost, "/v1/sandbox", `{}`).StatusCode)
}

func TestPanicIsAnInternalError(t *testing.T) {
	t.Parallel()
	w := open(t, func(o *httpapi.Options) {
		o.Metrics = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("hunter2") })
	})
	got := w.do(http.MethodGet, "/metrics", "")
	w.refused(got, 500, fault.InternalError, "")
	require.NotContains(t, string(got.raw), "hunter2")
	require.Contains(t, w.logged.String(), "hunter2")
	require.Equal(t, http.StatusOK, w.do(http.MethodGet, "/healthz", "").StatusCode, "the service still works")
}

func TestLostDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	w.database.cut()
	w.refused(c.do(http.MethodGet, "/v1/videos", ""), 503, fault.DBUnavailable, "")
	w.refused(w.do(http.MethodGet, "/readyz", ""), 503, fault.DBUnavailable, "")
	w.refused(w.do(http.MethodPost, "/v1/sandbox", ""), 503, fault.DBUnavailable, "")
}

// TestADegradedPartLeavesTheNodeReady has a failing check that no request depends on.
func TestADegradedPartLeavesTheNodeReady(t *testing.T) {
	t.Parallel()
	broken := func(context.Context) error { return errors.New("broken") }
	w := open(t, func(o *httpapi.Options) {
		o.Health = append(o.Health, httpapi.HealthCheck{Name: "storage", Check: broken, Advisory: true},
			httpapi.HealthCheck{Name: "log", Check: broken, Advisory: true, Degraded: "degraded"},
			httpapi.HealthCheck{Name: "room", Advisory: true, Check: func(context.Context) error { return fmt.Errorf("%w: the disk is gone", httpapi.ErrUnchecked) }})
	})
	got := w.do(http.MethodGet, "/readyz", "")
	require.Equal(t, http.StatusOK, got.StatusCode)
	require.Equal(t, map[string]any{"database": "ok", "inference": "ok", "storage": "low", "log": "degraded", "room": "failed"}, got.at("checks"))
}

// TestProbesOfANodeThatIsNotReady: the log has the changes of the state, and not each probe. A probe is
// not an error of the service.
func TestProbesOfANodeThatIsNotReady(t *testing.T) {
	t.Parallel()
	var gone atomic.Bool
	var codes sync.Map
	w := open(t, func(o *httpapi.Options) {
		o.Health = append(o.Health, httpapi.HealthCheck{Name: "objects", Check: func(context.Context) error {
			if gone.Load() {
				return errors.New("the folder is missing")
			}
			return nil
		}})
		o.Answered = func(a edge.Answered) { codes.Store(a.Code, a.Status) }
	})
	logged := func(text string) int { return strings.Count(w.logged.String(), text) }
	gone.Store(true)
	w.refused(w.do(http.MethodGet, "/readyz", ""), 503, fault.CapacityExhausted, "")
	gone.Store(false)
	require.Equal(t, http.StatusOK, w.do(http.MethodGet, "/readyz", "").StatusCode)
	require.Equal(t, 1, logged(`level=INFO msg="the service is starting" waiting_for=objects`))
	require.Zero(t, logged("level=WARN"), "a start needs no warning")
	for range 3 {
		gone.Store(true)
		for range 3 {
			w.refused(w.do(http.MethodGet, "/readyz", ""), 503, fault.CapacityExhausted, "")
		}
		gone.Store(false)
		for range 3 {
			require.Equal(t, http.StatusOK, w.do(http.MethodGet, "/readyz", "").StatusCode)
		}
	}
	require.Equal(t, 3, logged(`level=WARN msg="the service is not ready" failed=objects error="the folder is missing"`))
	require.Equal(t, 4, logged(`level=INFO msg="the service is ready"`))
	require.Zero(t, logged("request failed"))
	require.Zero(t, logged("level=INFO msg=request"))
	_, counted := codes.Load(fault.CapacityExhausted)
	require.False(t, counted)
}

func TestReadinessNamesAlarms(t *testing.T) {
	t.Parallel()
	w := open(t, func(o *httpapi.Options) { o.Alarms = func() []string { return []string{"parked_events"} } })
	ready := w.do(http.MethodGet, "/readyz", "")
	require.Equal(t, http.StatusOK, ready.StatusCode, "a node that can answer stays in rotation")
	require.Equal(t, []any{"parked_events"}, ready.at("alarms"))
	w.database.cut()
	failed := w.do(http.MethodGet, "/readyz", "")
	w.refused(failed, 503, fault.DBUnavailable, "")
	require.Equal(t, []any{"parked_events"}, failed.at("error.details.alarms"))
}
