package jobs_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/video"
	"vqa/handlers/command"
	"vqa/handlers/intake/egress"
	"vqa/handlers/jobs"
	"vqa/handlers/objects"
)

// newOrigin is a world that may fetch from one TLS server on loopback.
func newOrigin(t *testing.T, serve http.HandlerFunc) (w *world, url string) {
	t.Helper()
	server := httptest.NewTLSServer(serve)
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(ca, block, 0o600))
	return newWorldBehind(t, egress.Options{Allow: []string{server.Listener.Addr().String()}, CAFile: ca}), server.URL + "/clip.mp4"
}

// fetch registers a URL and runs the first attempt at it.
func (w *world) fetch(t *testing.T, ctx context.Context, url string) (command.Fetch, error) {
	t.Helper()
	v, err := w.CreateVideo(t.Context(), w.caller, command.CreateVideo{URL: &url})
	require.NoError(t, err)
	f := command.Fetch{AccountID: w.caller.AccountID, VideoID: v.ID, URL: url, Attempt: 1}
	return f, w.fetcher().Run(ctx, f)
}

func (w *world) fetcher() *jobs.Fetcher {
	return &jobs.Fetcher{Commands: w.Service, Intake: w.intake, Objects: w.objects, Log: w.log}
}

// stored lists the files of all videos, including unfinished ones.
func (w *world) stored(t *testing.T) []string {
	t.Helper()
	path, ok := w.objects.LocalPath(objects.VideoKey("x"))
	require.True(t, ok)
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	require.NoError(t, err)
	return files
}

func TestFetch(t *testing.T) {
	t.Parallel()
	data, err := shortClip()
	require.NoError(t, err)
	var served atomic.Pointer[[]byte]
	served.Store(&data)
	w, url := newOrigin(t, func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(*served.Load()) })
	f, err := w.fetch(t, t.Context(), url)
	require.NoError(t, err)
	v := w.video(t, f.VideoID)
	require.Equal(t, video.ReadyStatus, v.Status)
	require.EqualValues(t, len(data), v.File.SizeBytes)
	require.Equal(t, "video/mp4", v.File.ContentType)
	require.EqualValues(t, shortS*1_000_000, *v.File.DurationMicros)
	requireStored := func() {
		t.Helper()
		files := w.stored(t)
		require.Len(t, files, 1)
		stored, err := os.ReadFile(files[0])
		require.NoError(t, err)
		require.Equal(t, data, stored)
		path, ok := w.objects.LocalPath(v.File.ObjectKey)
		require.True(t, ok)
		require.Equal(t, path, files[0])
	}
	requireStored()

	// Later attempts, as those of a node that counts as dead, must not change the bytes.
	for attempt, later := range [][]byte{data[:len(data)/2], bytes.Repeat([]byte("junk"), 1000), append(slices.Clone(data), 0)} {
		served.Store(&later)
		f.Attempt = attempt + 2
		require.NoError(t, w.fetcher().Run(t.Context(), f))
		require.Equal(t, v, w.video(t, f.VideoID))
		requireStored()
	}
}

func TestFetchFails(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		serve http.HandlerFunc
		code  fault.Code
	}{
		"404": {http.NotFound, fault.URLFetchFailed},
		"cut": {func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Length", "5000")
			_, _ = io.WriteString(rw, "a beginning")
		}, fault.URLFetchFailed},
		"empty": {func(http.ResponseWriter, *http.Request) {}, fault.URLFetchFailed},
		"too large": {func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Length", strconv.FormatInt(video.MaxBytes+1, 10))
			rw.WriteHeader(http.StatusOK)
		}, fault.VideoTooLarge},
		"not a video": {func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "plain text") }, fault.VideoUnreadable},
		"forbidden redirect": {func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "https://127.0.0.1/clip.mp4", http.StatusFound)
		}, fault.URLForbidden},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, url := newOrigin(t, tt.serve)
			f, err := w.fetch(t, t.Context(), url)
			require.NoError(t, err, "the attempt is over")
			v := w.video(t, f.VideoID)
			require.Equal(t, video.FailedStatus, v.Status)
			require.Equal(t, tt.code, v.Error.Code)
			require.Empty(t, w.stored(t), "nothing is kept")
		})
	}
}

func TestFetchedVideoTooLong(t *testing.T) {
	t.Parallel()
	data, err := shortClip()
	require.NoError(t, err)
	w, url := newOrigin(t, func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(data) })
	w.Limits.MaxVideoDuration = shortS * 1e9 / 2
	f, err := w.fetch(t, t.Context(), url)
	require.NoError(t, err)
	v := w.video(t, f.VideoID)
	require.Equal(t, video.FailedStatus, v.Status)
	require.Equal(t, fault.VideoTooLong, v.Error.Code)
	require.Empty(t, w.stored(t), "nothing is kept")
}

func TestRemovedWhileFetched(t *testing.T) {
	t.Parallel()
	data, err := shortClip()
	require.NoError(t, err)
	arrived, resume := make(chan struct{}), make(chan struct{})
	w, url := newOrigin(t, func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = rw.Write(data[:100])
		close(arrived)
		<-resume
		_, _ = rw.Write(data[100:])
	})
	v, err := w.CreateVideo(t.Context(), w.caller, command.CreateVideo{URL: &url})
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		ended <- w.fetcher().Run(t.Context(), command.Fetch{AccountID: w.caller.AccountID, VideoID: v.ID, URL: url, Attempt: 1})
	}()
	await(t, arrived)
	require.NoError(t, w.DeleteVideo(t.Context(), w.caller, v.ID))
	close(resume)
	require.NoError(t, await(t, ended))
	require.Empty(t, w.stored(t), "nothing is kept")
}

// TestFetchCutOffByTheEnd: a fetch that the end of the program cuts off is left to the next
// attempt.
func TestFetchCutOffByTheEnd(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	w, url := newOrigin(t, func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(rw, "a beginning")
		_ = http.NewResponseController(rw).Flush()
		stop()
		<-r.Context().Done()
	})
	f, err := w.fetch(t, ctx, url)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, video.Processing, w.video(t, f.VideoID).Status)
	require.Empty(t, w.stored(t), "nothing is kept")
}

// slowIntake fetches a video of which no frame can be decoded in time.
type slowIntake struct{ jobs.Intake }

// FromURL implements jobs.Intake.
func (slowIntake) FromURL(context.Context, string, string, int, string) (video.File, error) {
	return video.File{}, fault.New(fault.CapacityExhausted, "No frame could be decoded in time.").WithRetryAfter(10)
}

// TestFetchOfAVideoThatIsNotDecodedInTime is left to another attempt: the video has not
// failed, and it is not ready.
func TestFetchOfAVideoThatIsNotDecodedInTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := "https://example.com/clip.mp4"
	v, err := w.CreateVideo(t.Context(), w.caller, command.CreateVideo{URL: &url})
	require.NoError(t, err)
	fetcher := w.fetcher()
	fetcher.Intake = slowIntake{}
	err = fetcher.Run(t.Context(), command.Fetch{AccountID: w.caller.AccountID, VideoID: v.ID, URL: url, Attempt: 1})
	require.True(t, fault.Has(err, fault.CapacityExhausted), "%v", err)
	require.Equal(t, video.Processing, w.video(t, v.ID).Status)
}
