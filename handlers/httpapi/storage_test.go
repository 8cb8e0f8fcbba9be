package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/video"
	"vqa/handlers/intake/fixture"
)

// TestParallelCompletesAgree completes one upload with concurrent requests: all get the same
// ready video.
func TestParallelCompletesAgree(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	for range 8 {
		created := c.do(http.MethodPost, "/v1/videos", `{"content_type": "video/mp4"}`)
		require.Equal(t, http.StatusCreated, created.StatusCode)
		c.upload(created, fixture.Bytes())
		path := "/v1/videos/" + created.at("id").(string)
		answers := make([]response, 4)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() { answers[i] = c.do(http.MethodPost, path+"/complete", "") })
		}
		all.Wait()
		for _, a := range answers {
			require.Equal(t, http.StatusOK, a.StatusCode, string(a.raw))
			require.Equal(t, "ready", a.at("status"))
			require.Equal(t, answers[0].at("size_bytes"), a.at("size_bytes"))
		}
		media, err := http.Get(answers[0].at("media.url").(string))
		require.NoError(t, err)
		require.NoError(t, media.Body.Close())
		require.Equal(t, http.StatusOK, media.StatusCode)
	}
	kept, err := filepath.Glob(filepath.Join(w.objects, "videos", "*"))
	require.NoError(t, err)
	require.Len(t, kept, 8, "one object for each video")
}

// TestUploadURLIsBoundToTheDeclaredSize sends more than was declared. 5% more are allowed
// (docs/contract.md#complete-video).
func TestUploadURLIsBoundToTheDeclaredSize(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	created := c.do(http.MethodPost, "/v1/videos", `{"content_type": "video/mp4", "size_bytes": 1000}`)
	send := func(body io.Reader) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, created.at("upload.url").(string), body)
		require.NoError(t, err)
		req.Header.Set("Content-Type", "video/mp4")
		got, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		raw, err := io.ReadAll(got.Body)
		require.NoError(t, err)
		require.NoError(t, got.Body.Close())
		return got.StatusCode, string(raw)
	}
	for name, body := range map[string]io.Reader{
		"announced": strings.NewReader(strings.Repeat("x", 1051)),
		"chunked":   io.MultiReader(strings.NewReader(strings.Repeat("x", 1051))),
	} {
		status, raw := send(body)
		require.Equal(t, http.StatusRequestEntityTooLarge, status, name)
		require.Contains(t, raw, "payload_too_large", name)
	}
	stored, err := filepath.Glob(filepath.Join(w.objects, "uploads", "*"))
	require.NoError(t, err)
	require.Empty(t, stored, "the bytes are dropped")
	status, raw := send(strings.NewReader(strings.Repeat("x", 1050)))
	require.Equal(t, http.StatusOK, status, raw)

	unknown := c.do(http.MethodPost, "/v1/videos", `{"content_type": "video/mp4"}`)
	require.Contains(t, unknown.at("upload.url"), "max_bytes=2147483648")
}

// TestStorageQuotaOfAnAccount fills the quota with open uploads and then deletes some.
func TestStorageQuotaOfAnAccount(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	size := int64(len(fixture.Bytes()))
	w.service.Limits.StoragePerAccount = 3 * video.UploadLimit(&size)
	body := fmt.Sprintf(`{"content_type": "video/mp4", "size_bytes": %d}`, size)
	stored := func() (used, limit any) {
		for _, item := range c.do(http.MethodGet, "/v1/usage", "").at("meters").([]any) {
			if m := item.(map[string]any); m["meter"] == "storage_bytes" {
				return m["used"], m["limit"]
			}
		}
		return nil, nil
	}
	var created []response
	for range 3 {
		got := c.do(http.MethodPost, "/v1/videos", body)
		require.Equal(t, http.StatusCreated, got.StatusCode, string(got.raw))
		created = append(created, got)
	}
	refused := c.do(http.MethodPost, "/v1/videos", body)
	w.refused(refused, 429, fault.QuotaExceeded, "")
	require.Equal(t, "storage_bytes", refused.at("error.details.meter"))
	require.Regexp(t, "^[1-9][0-9]*$", refused.Header.Get("Retry-After"))
	w.refused(c.do(http.MethodPost, "/v1/videos", `{"url": "https://example.com/a.mp4"}`), 429, fault.QuotaExceeded, "")
	used, limit := stored()
	require.InDelta(t, w.service.Limits.StoragePerAccount, used, 0)
	require.InDelta(t, w.service.Limits.StoragePerAccount, limit, 0)
	require.Equal(t, http.StatusCreated, w.customer(0).do(http.MethodPost, "/v1/videos", body).StatusCode, "another account has its own")

	// A finished upload counts with its actual size.
	c.upload(created[0], fixture.Bytes())
	path := "/v1/videos/" + created[0].at("id").(string)
	require.Equal(t, http.StatusOK, c.do(http.MethodPost, path+"/complete", "").StatusCode)
	used, _ = stored()
	require.InDelta(t, 2*video.UploadLimit(&size)+size, used, 0)
	require.Equal(t, http.StatusOK, c.do(http.MethodDelete, path, "").StatusCode)
	require.Equal(t, http.StatusCreated, c.do(http.MethodPost, "/v1/videos", body).StatusCode, "a deletion frees storage")
}

func TestStorageQuotaOfASandbox(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.service.Limits.StoragePerAccount, w.service.Limits.StoragePerSandbox = 100<<30, 1<<20
	c := w.tester()
	for range 4 {
		created := c.do(http.MethodPost, "/v1/videos", `{"content_type": "video/mp4"}`)
		require.Equal(t, http.StatusCreated, created.StatusCode, string(created.raw))
		require.Contains(t, created.at("upload.url"), "max_bytes=262144", "the URL accepts a quarter of the quota")
	}
	w.refused(c.do(http.MethodPost, "/v1/videos", `{"content_type": "video/mp4", "size_bytes": 1}`), 429, fault.QuotaExceeded, "")
}
