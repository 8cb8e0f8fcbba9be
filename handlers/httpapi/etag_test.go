package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
)

// toTheSlot sets the clock to the start of a slot of 15 minutes, in which the tag of a
// resource with signed URLs stays the same.
func (w *world) toTheSlot() {
	w.advance(w.now().Truncate(15 * time.Minute).Add(15 * time.Minute).Sub(w.now()))
}

func TestUnchangedResourcesGet304(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(1000)
	videoID := c.ready()
	analysisID := c.ask(videoID, "Is there a dog?")
	w.toTheSlot()
	for _, path := range []string{"/v1/videos/" + videoID, "/v1/analyses/" + analysisID} {
		first := c.do(http.MethodGet, path, "")
		require.Equal(t, http.StatusOK, first.StatusCode)
		tag := first.Header.Get("ETag")
		require.NotEmpty(t, tag)
		require.Equal(t, "private, no-cache", first.Header.Get("Cache-Control"))
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			for _, condition := range []string{tag, `"x", ` + tag, strings.TrimPrefix(tag, "W/"), "*"} {
				same := c.do(method, path, "", "If-None-Match", condition)
				require.Equal(t, http.StatusNotModified, same.StatusCode, condition)
				require.Empty(t, same.raw)
				require.Equal(t, tag, same.Header.Get("ETag"))
				require.Equal(t, "private, no-cache", same.Header.Get("Cache-Control"))
				require.NotEmpty(t, same.Header.Get("X-RateLimit-Remaining"))
			}
		}
		for _, condition := range []string{`"x"`, "", tag + "x", `W/`, `"`} {
			require.Equal(t, http.StatusOK, c.do(http.MethodGet, path, "", "If-None-Match", condition).StatusCode, "%q", condition)
		}
	}
	path := "/v1/analyses/" + analysisID
	tag := c.do(http.MethodGet, path, "").Header.Get("ETag")
	c.claim(videoID, analysisID)
	changed := c.do(http.MethodGet, path, "", "If-None-Match", tag)
	require.Equal(t, http.StatusOK, changed.StatusCode)
	require.NotEqual(t, tag, changed.Header.Get("ETag"))
	w.refused(w.customer(0).do(http.MethodGet, path, "", "If-None-Match", "*"), 404, fault.ResourceNotFound, "")
}

func TestACachedSignedURLStaysValid(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	path := "/v1/videos/" + c.ready()
	w.toTheSlot()
	first := c.do(http.MethodGet, path, "")
	tag := first.Header.Get("ETag")
	require.True(t, strings.HasPrefix(tag, "W/"), "the URL differs on every read")
	w.advance(14 * time.Minute)
	require.Equal(t, http.StatusNotModified, c.do(http.MethodGet, path, "", "If-None-Match", tag).StatusCode)
	expires, err := time.Parse(time.RFC3339, first.at("media.expires_at").(string))
	require.NoError(t, err)
	require.Greater(t, expires.Sub(w.now()), 45*time.Minute)
	w.advance(time.Minute)
	renewed := c.do(http.MethodGet, path, "", "If-None-Match", tag)
	require.Equal(t, http.StatusOK, renewed.StatusCode)
	require.NotEqual(t, first.at("media.url"), renewed.at("media.url"))
}

func TestCacheControl(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	c.ready()
	for _, path := range []string{"/v1/errors", "/v1/models", "/v1/openapi.json", "/v1/credit-pricing", "/v1/schemas/compiled-query.json", "/v1/test-fixture", "/"} {
		got := w.do(http.MethodGet, path, "")
		tag := got.Header.Get("ETag")
		require.Regexp(t, `^"[^"]+"$`, tag, "the tag is strong: %s", path)
		require.Equal(t, "public, max-age=300", got.Header.Get("Cache-Control"))
		w.advance(time.Hour)
		same := w.do(http.MethodGet, path, "", "If-None-Match", tag)
		require.Equal(t, http.StatusNotModified, same.StatusCode, path)
		require.Equal(t, "public, max-age=300", same.Header.Get("Cache-Control"))
	}
	for _, path := range []string{"/v1/videos", "/v1/analyses", "/v1/credits", "/healthz"} {
		got := c.do(http.MethodGet, path, "", "If-None-Match", "*")
		require.Equal(t, http.StatusOK, got.StatusCode, path)
		require.Empty(t, got.Header.Get("ETag"), path)
		require.Equal(t, "no-store", got.Header.Get("Cache-Control"), path)
	}
	require.Equal(t, "no-store", w.do(http.MethodPost, "/v1/sandbox", "").Header.Get("Cache-Control"))
	require.Equal(t, "no-store", w.do(http.MethodGet, "/v1/videos", "").Header.Get("Cache-Control"))
}

func TestPartsOfAFile(t *testing.T) {
	t.Parallel()
	w := open(t)
	const path = "/v1/test-fixture/video.mp4"
	whole := w.do(http.MethodGet, path, "")
	require.Equal(t, http.StatusOK, whole.StatusCode)
	part := w.do(http.MethodGet, path, "", "Range", "bytes=4-7")
	require.Equal(t, http.StatusPartialContent, part.StatusCode)
	require.Equal(t, string(whole.raw[4:8]), string(part.raw))
	require.Equal(t, whole.Header.Get("ETag"), part.Header.Get("ETag"))
	require.Equal(t, http.StatusNotModified, w.do(http.MethodGet, path, "", "If-None-Match", whole.Header.Get("ETag")).StatusCode)
	w.refused(w.do(http.MethodGet, path, "", "Range", "bytes=99999999-"), 416, fault.ValidationFailed, "Range")
}
