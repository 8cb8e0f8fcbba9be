package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/handlers/intake/fixture"
)

func TestVideoFromUploadToDeletion(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	created := c.do(http.MethodPost, "/v1/videos", `{"content_type": "video/mp4", "filename": "ball.mp4", "metadata": {"camera": "yard-1"}}`)
	require.Equal(t, http.StatusCreated, created.StatusCode)
	require.Equal(t, "awaiting_upload", created.at("status"))
	require.Equal(t, map[string]any{"camera": "yard-1"}, created.at("metadata"))
	path := "/v1/videos/" + created.at("id").(string)
	w.refused(c.do(http.MethodPost, path+"/complete", ""), 400, fault.UploadIncomplete, "")
	require.NotNil(t, c.do(http.MethodGet, path, "").at("upload"), "every read creates new instructions")

	c.upload(created, fixture.Bytes())
	done := c.do(http.MethodPost, path+"/complete", "")
	require.Equal(t, http.StatusOK, done.StatusCode, string(done.raw))
	require.Equal(t, "ready", done.at("status"))
	require.Nil(t, done.at("upload"))
	require.Nil(t, done.at("expires_at"))
	require.EqualValues(t, len(fixture.Bytes()), done.at("size_bytes"))
	media, err := http.Get(done.at("media.url").(string))
	require.NoError(t, err)
	require.NoError(t, media.Body.Close())
	require.Equal(t, http.StatusOK, media.StatusCode)
	require.Regexp(t, `^req_`, media.Header.Get("X-Request-Id"))
	other := w.do(http.MethodPost, strings.TrimPrefix(done.at("media.url").(string), w.url), "")
	w.refused(other, http.StatusMethodNotAllowed, fault.ValidationFailed, "")
	require.Equal(t, "GET, HEAD, PUT, OPTIONS", other.Header.Get("Allow"))

	gone := c.do(http.MethodDelete, path, "")
	require.Equal(t, true, gone.at("deleted"))
	w.refused(w.do(http.MethodGet, strings.TrimPrefix(done.at("media.url").(string), w.url), ""), 404, fault.ResourceNotFound, "")
	waiting := c.do(http.MethodPost, "/v1/videos", `{"content_type": "video/mp4"}`)
	require.Equal(t, http.StatusOK, c.do(http.MethodDelete, "/v1/videos/"+waiting.at("id").(string), "").StatusCode)
	for _, v := range []response{created, waiting} {
		put := w.do(http.MethodPut, strings.TrimPrefix(v.at("upload.url").(string), w.url), "bytes", "Content-Type", "video/mp4")
		w.refused(put, http.StatusConflict, fault.ResourceConflict, "")
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		w.refused(c.do(method, path, ""), 404, fault.ResourceNotFound, "")
	}
}

func TestVideoFromURLWaitsForItsFetch(t *testing.T) {
	t.Parallel()
	w := open(t)
	got := w.customer(0).do(http.MethodPost, "/v1/videos", `{"url": "https://example.com/clip.MOV"}`)
	require.Equal(t, http.StatusCreated, got.StatusCode)
	require.Equal(t, "processing", got.at("status"))
	require.Equal(t, "url", got.at("source"))
	require.Equal(t, "video/quicktime", got.at("content_type"))
	require.Nil(t, got.at("upload"))
	require.Nil(t, got.at("expires_at"))
}

// TestBothListsOfAVideosAnalysesAgree: GET /v1/videos/{id}/analyses returns the same as
// GET /v1/analyses?video_id={id} (docs/contract.md#lists).
func TestBothListsOfAVideosAnalysesAgree(t *testing.T) {
	t.Parallel()
	w := open(t)
	c, stranger := w.customer(100), w.customer(100)
	kept, deleted := c.ready(), c.ready()
	c.ask(kept, "Is there a dog?")
	require.Equal(t, http.StatusOK, c.do(http.MethodDelete, "/v1/videos/"+deleted, "").StatusCode)
	both := func(c *client, videoID string) []response {
		return []response{
			c.do(http.MethodGet, "/v1/analyses?video_id="+videoID, ""), c.do(http.MethodGet, "/v1/videos/"+videoID+"/analyses", ""),
		}
	}
	for _, got := range both(c, kept) {
		require.Equal(t, http.StatusOK, got.StatusCode, string(got.raw))
		require.Len(t, got.items(), 1)
	}
	for name, answers := range map[string][]response{
		"deleted": both(c, deleted), "foreign": both(stranger, kept), "malformed": both(c, "video_x"),
	} {
		for _, got := range answers {
			require.Equal(t, http.StatusNotFound, got.StatusCode, "%s: %s", name, got.raw)
			w.refused(got, 404, fault.ResourceNotFound, "")
		}
	}
}
