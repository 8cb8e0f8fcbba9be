package httpapi_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/fault"
	"vqa/handlers/command"
	"vqa/handlers/objects"
)

// fetch reads a signed URL.
func fetch(t *testing.T, address string) (status int, contentType, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	got, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { require.NoError(t, got.Body.Close()) }()
	text, err := io.ReadAll(got.Body)
	require.NoError(t, err)
	return got.StatusCode, got.Header.Get("Content-Type"), string(text)
}

// completed completes an analysis whose artifacts are pending.
func (c *client) completed(videoID string, planned *analysis.Artifacts) command.Afterwork {
	c.w.t.Helper()
	analysisID := c.ask(videoID, "Is there a dog?")
	run := c.claim(videoID, analysisID)
	if planned != nil {
		planned.VideoKey = objects.ArtifactKey(videoID, analysisID+".1.mp4")
	}
	require.NoError(c.w.t, c.w.service.CompleteAnalysis(c.w.t.Context(), run, yesResult(), 6_000_000, 12, planned))
	return command.Afterwork{AccountID: run.AccountID, AnalysisID: analysisID, Attempt: 1}
}

// drawn completes an analysis with these artifacts.
func (c *client) drawn(videoID string, artifacts *analysis.Artifacts) string {
	c.w.t.Helper()
	work := c.completed(videoID, artifacts)
	require.NoError(c.w.t, c.w.service.RecordDrawing(c.w.t.Context(), work, artifacts))
	return work.AnalysisID
}

// put stores an object whose content is its key.
func (w *world) put(keys ...string) {
	w.t.Helper()
	for _, key := range keys {
		path := filepath.Join(w.objects, filepath.FromSlash(key))
		require.NoError(w.t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(w.t, os.WriteFile(path, []byte(key), 0o600))
	}
}

func TestArtifactsAreSignedOnEveryRead(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	videoID := c.ready()
	drawn := &analysis.Artifacts{SheetKey: objects.ArtifactKey(videoID, "an.1.png")}
	path := "/v1/analyses/" + c.drawn(videoID, drawn)
	w.put(drawn.VideoKey, drawn.SheetKey)

	first := c.do(http.MethodGet, path, "")
	expires, err := time.Parse(time.RFC3339, first.at("artifacts.expires_at").(string))
	require.NoError(t, err)
	require.WithinDuration(t, w.now().Add(time.Hour), expires, time.Minute)
	status, contentType, body := fetch(t, first.at("artifacts.annotated_video_url").(string))
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "video/mp4", contentType)
	require.Equal(t, drawn.VideoKey, body)
	status, contentType, body = fetch(t, first.at("artifacts.contact_sheet_url").(string))
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "image/png", contentType)
	require.Equal(t, drawn.SheetKey, body)

	w.advance(59 * time.Minute)
	later := c.do(http.MethodGet, path, "").at("artifacts.annotated_video_url").(string)
	w.advance(2 * time.Minute)
	status, _, _ = fetch(t, first.at("artifacts.annotated_video_url").(string))
	require.Equal(t, fault.Lookup(fault.TokenExpired).Status, status)
	status, _, _ = fetch(t, later)
	require.Equal(t, http.StatusOK, status)

	shown := func(listPath string) any {
		return c.do(http.MethodGet, listPath, "").at("data").([]any)[0].(map[string]any)["artifacts"]
	}
	event := func() any {
		list := c.do(http.MethodGet, "/v1/events?type=analysis.completed", "").at("data").([]any)
		return list[0].(map[string]any)["data"].(map[string]any)["artifacts"]
	}
	require.NotNil(t, shown("/v1/analyses"))
	require.NotNil(t, event())
	require.Equal(t, http.StatusOK, c.do(http.MethodDelete, "/v1/videos/"+videoID, "").StatusCode)
	require.Nil(t, c.do(http.MethodGet, path, "").at("artifacts"), "artifacts are deleted with the video")
	require.Nil(t, shown("/v1/analyses"))
	require.Nil(t, event())
}

// TestArtifactsAreWaitedFor opens the URLs of pending artifacts.
func TestArtifactsAreWaitedFor(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	videoID := c.ready()
	planned := &analysis.Artifacts{}
	work := c.completed(videoID, planned)
	path := "/v1/analyses/" + work.AnalysisID
	got := c.do(http.MethodGet, path, "")
	require.Equal(t, "completed", got.at("status"))
	address := got.at("artifacts.annotated_video_url").(string)
	require.Contains(t, address, w.url)

	type reply struct {
		status int
		body   string
	}
	replies := make(chan reply, 1)
	go func() {
		status, _, body := fetch(t, address)
		replies <- reply{status, body}
	}()
	require.Eventually(t, func() bool { return w.waiting() > 0 }, time.Minute, time.Millisecond, "the reader waits")
	w.put(planned.VideoKey)
	require.NoError(t, w.service.RecordDrawing(t.Context(), work, planned))
	w.wake()
	require.Equal(t, reply{http.StatusOK, planned.VideoKey}, <-replies)

	planned = &analysis.Artifacts{}
	work = c.completed(videoID, planned)
	path = "/v1/analyses/" + work.AnalysisID
	address = c.do(http.MethodGet, path, "").at("artifacts.annotated_video_url").(string)
	require.NoError(t, w.service.RecordDrawing(t.Context(), work, nil))
	status, _, _ := fetch(t, address)
	require.Equal(t, http.StatusNotFound, status, "rendering failed")
	require.Nil(t, c.do(http.MethodGet, path, "").at("artifacts"))
}

func TestArtifactsMayHaveNoSheet(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	videoID := c.ready()
	got := c.do(http.MethodGet, "/v1/analyses/"+c.drawn(videoID, &analysis.Artifacts{}), "")
	require.NotEmpty(t, got.at("artifacts.annotated_video_url"))
	require.Nil(t, got.at("artifacts.contact_sheet_url"))
	nothing := c.completed(videoID, nil)
	require.Nil(t, c.do(http.MethodGet, "/v1/analyses/"+nothing.AnalysisID, "").at("artifacts"))
}
