package httpapi_test

import (
	"net/http"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/handlers/media/fixture"
)

// TestParallelCompletesAgree completes one upload from several sides at once: all of them
// get the same ready video.
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
