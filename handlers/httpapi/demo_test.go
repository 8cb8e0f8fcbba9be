package httpapi_test

import (
	"bytes"
	"image/jpeg"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/handlers/command"
	"vqa/handlers/httpapi"
	"vqa/handlers/intake/demo"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
	"vqa/handlers/intake/probe"
	"vqa/handlers/objects"
)

// demoWorld is a world with one scene and the store of its files.
func demoWorld(t *testing.T) (w *world, store *objects.Store, scene demo.Scene) {
	t.Helper()
	scene = demo.Scenes()[1]
	w = open(t, func(o *httpapi.Options) {
		store = o.Objects.(*objects.Store)
		o.Demos = httpapi.Demos{Scenes: []demo.Scene{scene}, Files: store}
	})
	return w, store, scene
}

// drawn records the video of the scene and returns its content.
func (w *world) drawn(store *objects.Store, scene demo.Scene) []byte {
	w.t.Helper()
	file, err := (&demo.Studio{Objects: store, Prober: probe.New(ffmpegtest.Runner(w.t)), FFmpeg: ffmpegtest.Runner(w.t)}).Make(w.t.Context(), scene)
	require.NoError(w.t, err)
	_, err = w.service.AddDemoVideo(w.t.Context(), scene.VideoID(), scene.Filename(), file)
	require.NoError(w.t, err)
	r, err := store.Reader(w.t.Context(), file.ObjectKey)
	require.NoError(w.t, err)
	data, err := io.ReadAll(r)
	require.NoError(w.t, err)
	require.NoError(w.t, r.Close())
	return data
}

// asked starts an analysis of the scene and returns its run.
func (w *world) asked(scene demo.Scene, prompt, after string) command.Run {
	w.t.Helper()
	a, err := w.service.AskDemo(w.t.Context(), command.AskDemo{VideoID: scene.VideoID(), Prompt: prompt, After: after})
	require.NoError(w.t, err)
	run := command.Run{AccountID: account.SystemID, AnalysisID: a.ID, VideoID: scene.VideoID(), Attempt: 1}
	_, _, err = w.service.ClaimAnalysis(w.t.Context(), run, "test")
	require.NoError(w.t, err)
	return run
}

func TestDemoVideosAreListedAsTheyCome(t *testing.T) {
	t.Parallel()
	w, store, scene := demoWorld(t)
	list := func() response {
		got := w.do(http.MethodGet, "/v1/demo-videos", "")
		require.Equal(t, http.StatusOK, got.StatusCode, string(got.raw))
		require.Equal(t, "public, max-age=30", got.Header.Get("Cache-Control"))
		return got
	}
	require.Equal(t, []any{}, list().at("videos"), "nothing is rendered yet")

	w.drawn(store, scene)
	got := list()
	entry := got.at("videos").([]any)[0].(map[string]any)
	require.Equal(t, scene.VideoID(), entry["id"])
	require.Equal(t, scene.DisplayName, entry["display_name"])
	require.EqualValues(t, 8, entry["duration_seconds"])
	require.Equal(t, map[string]any{}, entry["results_by_prompt"], "nothing is answered yet")
	again := w.do(http.MethodGet, "/v1/demo-videos", "", "If-None-Match", got.Header.Get("ETag"))
	require.Equal(t, http.StatusNotModified, again.StatusCode)

	failed := w.asked(scene, scene.Prompts[0], "")
	require.NoError(t, w.service.FailAnalysis(t.Context(), failed, analysis.Failure{Code: fault.InferenceError, Message: "away"}))
	done := w.asked(scene, scene.Prompts[0], failed.AnalysisID)
	w.asked(scene, scene.Prompts[1], "")
	require.NoError(t, w.service.CompleteAnalysis(t.Context(), done, answer.Result{Answer: answer.Yes, Confidence: 0.9, QueryType: "object", DetectedCount: new(1)}, 8_000_000, 16, nil))
	entry = list().at("videos").([]any)[0].(map[string]any)
	results := entry["results_by_prompt"].(map[string]any)
	require.Len(t, results, 1, "one question has an answer after a retry, one has none yet")
	result := results[scene.Prompts[0]].(map[string]any)
	require.NotEmpty(t, result["computed_at"])
	delete(result, "computed_at")
	require.Equal(t, map[string]any{
		"answer": "yes", "confidence": 0.9, "detected_count": 1.0, "query_type": "object", "video_url": w.url + "/v1/demo-videos/" + scene.VideoID() + "/video.mp4",
	}, result)
	for _, shown := range []any{result["video_url"], entry["thumbnail_url"]} {
		u, err := url.Parse(shown.(string))
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, w.do(http.MethodGet, u.Path, "").StatusCode, "%s is a working link", shown)
	}
}

func TestDemoFiles(t *testing.T) {
	t.Parallel()
	w, store, scene := demoWorld(t)
	video := w.drawn(store, scene)
	clip, thumbnail := "/v1/demo-videos/"+scene.VideoID()+"/video.mp4", "/v1/demo-videos/"+scene.VideoID()+"/thumbnail.jpg"

	whole := w.do(http.MethodGet, clip, "")
	require.Equal(t, http.StatusOK, whole.StatusCode)
	require.True(t, bytes.Equal(video, whole.raw))
	require.Equal(t, "bytes", whole.Header.Get("Accept-Ranges"))
	require.Equal(t, "public, max-age=31536000, immutable", whole.Header.Get("Cache-Control"))
	tag := whole.Header.Get("ETag")
	size := strconv.Itoa(len(video))

	for name, test := range map[string]struct {
		path    string
		headers []string
		status  int
		body    []byte
	}{
		"a part":                         {clip, []string{"Range", "bytes=100-199"}, http.StatusPartialContent, video[100:200]},
		"the end":                        {clip, []string{"Range", "bytes=-50"}, http.StatusPartialContent, video[len(video)-50:]},
		"a part of the same file":        {clip, []string{"Range", "bytes=0-9", "If-Range", tag}, http.StatusPartialContent, video[:10]},
		"the whole of another":           {clip, []string{"Range", "bytes=0-9", "If-Range", `"other"`}, http.StatusOK, video},
		"several parts":                  {clip, []string{"Range", "bytes=0-9,20-29"}, http.StatusOK, video},
		"it is known":                    {clip, []string{"If-None-Match", tag}, http.StatusNotModified, nil},
		"another is known":               {clip, []string{"If-None-Match", `"other"`}, http.StatusOK, video},
		"a part of the thumbnail":        {thumbnail, []string{"Range", "bytes=0-9"}, http.StatusOK, nil},
		"a range outside":                {clip, []string{"Range", "bytes=" + size + "-"}, http.StatusRequestedRangeNotSatisfiable, nil},
		"an unknown video":               {"/v1/demo-videos/video_01M7XPE6000000000000000000/video.mp4", nil, http.StatusNotFound, nil},
		"no id":                          {"/v1/demo-videos/stop/thumbnail.jpg", nil, http.StatusNotFound, nil},
		"a thumbnail of an unknown one":  {"/v1/demo-videos/video_01M7XPE6000000000000000000/thumbnail.jpg", nil, http.StatusNotFound, nil},
		"the video of a customer":        {"/v1/demo-videos/" + w.customer(10).ready() + "/video.mp4", nil, http.StatusNotFound, nil},
		"the thumbnail of the same clip": {thumbnail, []string{"If-None-Match", tag}, http.StatusOK, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := w.do(http.MethodGet, test.path, "", test.headers...)
			require.Equal(t, test.status, got.StatusCode, string(got.raw[:min(len(got.raw), 300)]))
			if test.body != nil {
				require.True(t, bytes.Equal(test.body, got.raw))
			}
		})
	}
	head := w.do(http.MethodHead, clip, "")
	require.Equal(t, http.StatusOK, head.StatusCode)
	require.EqualValues(t, len(video), head.ContentLength)

	picture, err := jpeg.DecodeConfig(bytes.NewReader(w.do(http.MethodGet, thumbnail, "").raw))
	require.NoError(t, err)
	require.Equal(t, [2]int{640, 360}, [2]int{picture.Width, picture.Height})
}

// TestNoDemos: without demo videos, the list is empty.
func TestNoDemos(t *testing.T) {
	t.Parallel()
	w := open(t)
	require.Equal(t, []any{}, w.do(http.MethodGet, "/v1/demo-videos", "").at("videos"))
	for _, file := range []string{"video.mp4", "thumbnail.jpg"} {
		w.refused(w.do(http.MethodGet, "/v1/demo-videos/"+demo.Scenes()[0].VideoID()+"/"+file, ""), http.StatusNotFound, fault.ResourceNotFound, "")
	}
}
