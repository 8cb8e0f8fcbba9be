package intake_test

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
	"vqa/handlers/intake"
	"vqa/handlers/intake/egress"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
	"vqa/handlers/intake/probe"
	"vqa/handlers/objects"
)

const (
	videoID = "video_01HZZZZZZZZZZZZZZZZZZZZZZZ"
	clipS   = 2
)

// newIntake returns an intake that can fetch from one server on loopback.
func newIntake(t *testing.T, serve http.HandlerFunc) (in *intake.Intake, url string) {
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
	return &intake.Intake{Objects: store, Client: client, Prober: probe.New(ffmpegtest.Runner(t))}, server.URL + "/clip"
}

// clip renders two seconds of video. The extension of the file chooses the container.
func clip(t *testing.T, extension string) []byte {
	t.Helper()
	mp4 := filepath.Join(t.TempDir(), "clip.mp4")
	pictures := []*image.RGBA{fixture.Empty(), fixture.StopSign(image.Pt(200, 110))}
	require.NoError(t, ffmpegtest.WriteClip(t.Context(), mp4, 1, pictures))
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

func put(t *testing.T, in *intake.Intake, key string, data []byte) {
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
	_, _, err := in.Inspect(t.Context(), awaiting(&declared))
	require.True(t, fault.Has(err, fault.UploadIncomplete), "%v", err)

	put(t, in, objects.UploadKey(videoID), data)
	f, ticket, err := in.Inspect(t.Context(), awaiting(&declared))
	require.NoError(t, err)
	micros, width, height, fps := int64(clipS*1_000_000), fixture.Width, fixture.Height, 10.0
	require.Equal(t, video.File{
		ObjectKey: objects.KeptKey(videoID, ticket), ContentType: "video/mp4", SizeBytes: declared,
		ClaimedMicros: &micros, DurationMicros: &micros, Width: &width, Height: &height, FPS: &fps,
	}, f)

	require.NoError(t, in.Keep(t.Context(), videoID, f.ObjectKey, ticket))
	stored, err := in.Objects.Stat(t.Context(), f.ObjectKey)
	require.NoError(t, err)
	require.Equal(t, declared, stored.SizeBytes)

	// The program stopped before it recorded the video, so the caller completes it again.
	again, second, err := in.Inspect(t.Context(), awaiting(&declared))
	require.NoError(t, err)
	require.Equal(t, f, again)
	require.Equal(t, ticket, second, "the same bytes have the same object")
	require.NoError(t, in.Keep(t.Context(), videoID, f.ObjectKey, ticket))

	require.NoError(t, in.Close(t.Context(), videoID))
	_, err = in.Objects.Stat(t.Context(), objects.UploadKey(videoID))
	require.True(t, fault.Has(err, fault.ResourceNotFound))
	_, err = in.Objects.Stat(t.Context(), f.ObjectKey)
	require.NoError(t, err)
	require.NoError(t, in.Discard(t.Context(), f.ObjectKey))
	_, err = in.Objects.Stat(t.Context(), f.ObjectKey)
	require.True(t, fault.Has(err, fault.ResourceNotFound))
}

// awaiting returns a video that waits for its upload.
func awaiting(declared *int64) video.State {
	return video.State{ID: videoID, AccountID: "acct_1", Status: video.AwaitingUpload, ContentType: "video/mp4", DeclaredBytes: declared}
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
		"text":            {[]byte("this is not a video"), nil, fault.VideoUnreadable},
		"cut in its head": {data[:200], nil, fault.VideoUnreadable},
		"cut in a frame":  {data[:len(data)-100], nil, fault.UploadIncomplete},
		"too small":       {data, size(len(data) * 2), fault.UploadIncomplete},
		"too big":         {data, size(len(data) / 2), fault.UploadIncomplete},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, _ := newIntake(t, http.NotFound)
			put(t, in, objects.UploadKey(videoID), tt.data)
			_, _, err := in.Inspect(t.Context(), awaiting(tt.declared))
			require.True(t, fault.Has(err, tt.code), "%v", err)
			_, err = in.Objects.Stat(t.Context(), objects.UploadKey(videoID))
			require.Equal(t, name == "too big", fault.Has(err, fault.ResourceNotFound), "only what is over its limit is deleted: %v", err)
			// The caller may upload another file.
			put(t, in, objects.UploadKey(videoID), data)
			_, _, err = in.Inspect(t.Context(), awaiting(size(len(data))))
			require.NoError(t, err)
		})
	}
}

// TestUploadReplacedWhileCompleted replaces the bytes after they were probed.
func TestUploadReplacedWhileCompleted(t *testing.T) {
	t.Parallel()
	in, _ := newIntake(t, http.NotFound)
	put(t, in, objects.UploadKey(videoID), clip(t, ".mp4"))
	f, ticket, err := in.Inspect(t.Context(), awaiting(nil))
	require.NoError(t, err)
	put(t, in, objects.UploadKey(videoID), []byte("something else"))
	err = in.Keep(t.Context(), videoID, f.ObjectKey, ticket)
	require.True(t, fault.Has(err, fault.ResourceConflict), "%v", err)
	_, err = in.Objects.Stat(t.Context(), f.ObjectKey)
	require.True(t, fault.Has(err, fault.ResourceNotFound), "bytes that were not probed must not be kept")
}

func TestFromURL(t *testing.T) {
	t.Parallel()
	for extension, contentType := range map[string]string{".mp4": "video/mp4", ".mov": "video/quicktime"} {
		t.Run(extension, func(t *testing.T) {
			t.Parallel()
			data := clip(t, extension)
			// The content type of the server does not count.
			in, url := newIntake(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/octet-stream")
				_, _ = bytes.NewReader(data).WriteTo(w)
			})
			f, err := in.FromURL(t.Context(), "acct_1", videoID, 1, url)
			require.NoError(t, err)
			require.Equal(t, contentType, f.ContentType)
			require.EqualValues(t, len(data), f.SizeBytes)
			require.EqualValues(t, clipS*1_000_000, *f.DurationMicros)
			_, err = in.Objects.Stat(t.Context(), f.ObjectKey)
			require.NoError(t, err)
			second, err := in.FromURL(t.Context(), "acct_1", videoID, 2, url)
			require.NoError(t, err)
			require.NotEqual(t, f.ObjectKey, second.ObjectKey)
		})
	}
}

// TestFromURLThatBreaksOff: a server that sends no length breaks off in a frame, or before the index.
func TestFromURLThatBreaksOff(t *testing.T) {
	t.Parallel()
	for _, extension := range []string{".mp4", ".mov"} {
		data := clip(t, extension)
		in, url := newIntake(t, func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush() // so that there is no Content-Length
			_, _ = w.Write(data[:len(data)*2/3])
		})
		_, err := in.FromURL(t.Context(), "acct_1", videoID, 1, url)
		require.True(t, fault.Has(err, fault.URLFetchFailed), "%s: %v", extension, err)
		_, err = in.Objects.Stat(t.Context(), objects.VideoKey(videoID)+".1")
		require.True(t, fault.Has(err, fault.ResourceNotFound), "%v", err)
	}
}

// TestInspectWaitsForASlot occupies the only slot of the node.
func TestInspectWaitsForASlot(t *testing.T) {
	t.Parallel()
	in, url := newIntake(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("this is not a video")) })
	in.Slots = intake.NewSlots(1, 1)
	put(t, in, objects.UploadKey(videoID), []byte("this is not a video"))
	leave, err := in.Slots.Enter(t.Context(), "acct_2", 0)
	require.NoError(t, err)
	examined := make(chan error, 2)
	go func() { _, _, err := in.Inspect(t.Context(), awaiting(nil)); examined <- err }()
	go func() { _, err := in.FromURL(t.Context(), "acct_1", videoID, 1, url); examined <- err }()
	require.Never(t, func() bool { return len(examined) > 0 }, time.Second, 50*time.Millisecond, "another probe runs")
	leave()
	for range 2 {
		require.True(t, fault.Has(<-examined, fault.VideoUnreadable))
	}
	_, _, err = in.Inspect(t.Context(), video.State{ID: "video_01HZZZZZZZZZZZZZZZZZZZZZZY"})
	require.True(t, fault.Has(err, fault.UploadIncomplete))
}

// TestAStoreThatGoesAwayIsNotAnUnreadableVideo moves the folder of the objects away at several moments
// of a probe. The video is good, so it is never refused as unreadable.
func TestAStoreThatGoesAwayIsNotAnUnreadableVideo(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "objects")
	require.NoError(t, os.Mkdir(dir, 0o700))
	store, err := objects.Open(t.Context(), objects.Options{
		Dir: dir, PublicURL: "http://service.example", SigningKey: make([]byte, 32), Now: time.Now,
		WriteError: func(http.ResponseWriter, *http.Request, error) {},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	in := &intake.Intake{Objects: store, Prober: probe.New(ffmpegtest.Runner(t))}
	put(t, in, objects.UploadKey(videoID), clip(t, ".mp4"))
	failed := 0
	for i := range 12 {
		away := make(chan error, 1)
		go func() {
			<-time.After(time.Duration(i) * 8 * time.Millisecond)
			away <- os.Rename(dir, dir+".away")
		}()
		_, _, err := in.Inspect(t.Context(), video.State{ID: videoID, ContentType: "video/mp4"})
		require.NoError(t, <-away)
		require.NoError(t, os.Rename(dir+".away", dir))
		if err != nil {
			failed++
			require.False(t, fault.Has(err, fault.VideoUnreadable) || fault.Has(err, fault.UploadIncomplete), "%v", err)
		}
	}
	require.Positive(t, failed, "the folder was never away during a probe")
}
