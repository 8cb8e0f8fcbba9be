package media_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"image"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/video"
	"vqa/gpu/fixture"
	"vqa/handlers/media"
	"vqa/handlers/media/egress"
	"vqa/handlers/media/objects"
	"vqa/handlers/media/probe"
)

const (
	videoID = "video_01HZZZZZZZZZZZZZZZZZZZZZZZ"
	clipS   = 2
)

// newIntake is the intake of one site on loopback.
func newIntake(t *testing.T, serve http.HandlerFunc) (in *media.Intake, url string) {
	t.Helper()
	server := httptest.NewTLSServer(serve)
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(ca, block, 0o600))
	client, err := egress.New(egress.Options{Allow: []string{server.Listener.Addr().String()}, CAFile: ca})
	require.NoError(t, err)
	store, err := objects.Open(t.Context(), objects.Options{
		Dir: t.TempDir(), PublicURL: "http://service.example", SigningKey: make([]byte, 32), Now: time.Now,
		WriteError: func(http.ResponseWriter, *http.Request, error) {},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	prober, err := probe.New()
	require.NoError(t, err)
	return &media.Intake{Objects: store, Client: client, Prober: prober}, server.URL + "/clip"
}

// clip renders two seconds; the extension of the file chooses the container.
func clip(t *testing.T, extension string) []byte {
	t.Helper()
	mp4 := filepath.Join(t.TempDir(), "clip.mp4")
	pictures := []*image.RGBA{fixture.Empty(), fixture.StopSign(image.Pt(200, 110))}
	require.NoError(t, fixture.WriteClip(t.Context(), mp4, 1, pictures))
	path := mp4
	if extension != ".mp4" {
		path = filepath.Join(t.TempDir(), "clip"+extension)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		out, err := exec.CommandContext(ctx, "ffmpeg", "-v", "error", "-i", mp4, "-c", "copy", path).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

func put(t *testing.T, in *media.Intake, key string, data []byte) {
	t.Helper()
	w, err := in.Objects.Writer(t.Context(), key, "video/mp4", video.MaxBytes)
	require.NoError(t, err)
	defer w.Abort()
	_, err = w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Commit())
}

func TestUploadBecomesAVideo(t *testing.T) {
	t.Parallel()
	in, _ := newIntake(t, http.NotFound)
	data := clip(t, ".mp4")
	declared := int64(len(data))
	_, _, err := in.Inspect(t.Context(), videoID, "video/mp4", &declared)
	require.True(t, fault.Has(err, fault.UploadIncomplete), "%v", err)

	put(t, in, objects.UploadKey(videoID), data)
	f, ticket, err := in.Inspect(t.Context(), videoID, "video/mp4", &declared)
	require.NoError(t, err)
	micros, width, height, fps := int64(clipS*1_000_000), fixture.Width, fixture.Height, 10.0
	require.Equal(t, video.File{
		ObjectKey: objects.VideoKey(videoID), ContentType: "video/mp4", SizeBytes: declared,
		DurationMicros: &micros, Width: &width, Height: &height, FPS: &fps,
	}, f)

	require.NoError(t, in.Keep(t.Context(), videoID, ticket))
	_, err = in.Objects.Stat(t.Context(), objects.UploadKey(videoID))
	require.True(t, fault.Has(err, fault.ResourceNotFound))
	stored, err := in.Objects.Stat(t.Context(), objects.VideoKey(videoID))
	require.NoError(t, err)
	require.Equal(t, declared, stored.SizeBytes)

	// The program stopped before it recorded this: the caller completes again.
	again, ticket, err := in.Inspect(t.Context(), videoID, "video/mp4", &declared)
	require.NoError(t, err)
	require.Equal(t, f, again)
	require.NoError(t, in.Keep(t.Context(), videoID, ticket))
}

func TestRefusedUploads(t *testing.T) {
	t.Parallel()
	data := clip(t, ".mp4")
	size := func(n int) *int64 { v := int64(n); return &v }
	tests := map[string]struct {
		data     []byte
		declared *int64
		code     fault.Code
	}{
		"text":            {[]byte("this is no video"), nil, fault.VideoUnreadable},
		"cut in its head": {data[:200], nil, fault.VideoUnreadable},
		"too small":       {data, size(len(data) * 2), fault.UploadIncomplete},
		"too big":         {data, size(len(data) / 2), fault.UploadIncomplete},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, _ := newIntake(t, http.NotFound)
			put(t, in, objects.UploadKey(videoID), tt.data)
			_, _, err := in.Inspect(t.Context(), videoID, "video/mp4", tt.declared)
			require.True(t, fault.Has(err, tt.code), "%v", err)
			// The caller may upload again.
			put(t, in, objects.UploadKey(videoID), data)
			_, _, err = in.Inspect(t.Context(), videoID, "video/mp4", size(len(data)))
			require.NoError(t, err)
		})
	}
}

// TestUploadReplacedWhileCompleted swaps the bytes after they were examined.
func TestUploadReplacedWhileCompleted(t *testing.T) {
	t.Parallel()
	in, _ := newIntake(t, http.NotFound)
	put(t, in, objects.UploadKey(videoID), clip(t, ".mp4"))
	_, ticket, err := in.Inspect(t.Context(), videoID, "video/mp4", nil)
	require.NoError(t, err)
	put(t, in, objects.UploadKey(videoID), []byte("something else"))
	err = in.Keep(t.Context(), videoID, ticket)
	require.True(t, fault.Has(err, fault.ResourceConflict), "%v", err)
	_, err = in.Objects.Stat(t.Context(), objects.VideoKey(videoID))
	require.True(t, fault.Has(err, fault.ResourceNotFound), "nothing unexamined is kept")
}

func TestFromURL(t *testing.T) {
	t.Parallel()
	for extension, contentType := range map[string]string{".mp4": "video/mp4", ".mov": "video/quicktime"} {
		t.Run(extension, func(t *testing.T) {
			t.Parallel()
			data := clip(t, extension)
			// What the server calls it does not count.
			in, url := newIntake(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/octet-stream")
				_, _ = bytes.NewReader(data).WriteTo(w)
			})
			f, err := in.FromURL(t.Context(), videoID, 1, url)
			require.NoError(t, err)
			require.Equal(t, contentType, f.ContentType)
			require.EqualValues(t, len(data), f.SizeBytes)
			require.EqualValues(t, clipS*1_000_000, *f.DurationMicros)
			_, err = in.Objects.Stat(t.Context(), f.ObjectKey)
			require.NoError(t, err)
			second, err := in.FromURL(t.Context(), videoID, 2, url)
			require.NoError(t, err)
			require.NotEqual(t, f.ObjectKey, second.ObjectKey)
		})
	}
}
