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
	"vqa/handlers/media/objects"
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

// drawnAnalysis ends an analysis of the customer that shows these artifacts.
func (c *client) drawnAnalysis(videoID string, drawn *analysis.Artifacts) string {
	c.w.t.Helper()
	analysisID := c.ask(videoID, "Is there a dog?")
	run := c.claim(videoID, analysisID)
	require.NoError(c.w.t, c.w.service.CompleteAnalysis(c.w.t.Context(), run, yesResult(), 6, 12, drawn))
	return analysisID
}

func TestArtifactsAreSignedOnEveryRead(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	videoID := c.ready()
	drawn := &analysis.Artifacts{VideoKey: objects.ArtifactKey(videoID, "an.1.mp4"), SheetKey: objects.ArtifactKey(videoID, "an.1.png")}
	for _, key := range []string{drawn.VideoKey, drawn.SheetKey} {
		path := filepath.Join(w.objects, filepath.FromSlash(key))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(key), 0o600))
	}
	path := "/v1/analyses/" + c.drawnAnalysis(videoID, drawn)

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

	listed := c.do(http.MethodGet, "/v1/analyses", "").at("data").([]any)[0].(map[string]any)
	require.NotNil(t, listed["artifacts"])
	require.Equal(t, http.StatusOK, c.do(http.MethodDelete, "/v1/videos/"+videoID, "").StatusCode)
	require.Nil(t, c.do(http.MethodGet, path, "").at("artifacts"), "they went with the video")
}

func TestArtifactsMayHaveNoSheet(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	videoID := c.ready()
	path := "/v1/analyses/" + c.drawnAnalysis(videoID, &analysis.Artifacts{VideoKey: objects.ArtifactKey(videoID, "an.1.mp4")})
	got := c.do(http.MethodGet, path, "")
	require.NotEmpty(t, got.at("artifacts.annotated_video_url"))
	require.Nil(t, got.at("artifacts.contact_sheet_url"))
	require.Nil(t, c.do(http.MethodGet, "/v1/analyses/"+c.drawnAnalysis(videoID, nil), "").at("artifacts"))
}
