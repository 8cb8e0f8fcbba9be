package frames_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/gpu/frames"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
)

func TestHTTPSource(t *testing.T) {
	t.Parallel()
	clip := render(t, "clip.mp4", lavfi("testsrc=s=64x48", "-t", "1", "-c:v", "libx264")...)
	server := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(clip))))
	t.Cleanup(server.Close)
	list, err := collect(t, server.URL+"/clip.mp4", frames.Options{})
	require.NoError(t, err)
	require.Equal(t, []float64{0, 0.5}, times(list))

	_, err = collect(t, server.URL+"/missing.mp4", frames.Options{})
	require.Error(t, err)
	_, unreadable := errors.AsType[*frames.UnreadableError](err)
	require.False(t, unreadable, "a server that fails says nothing about the video: %v", err)
}

// children lists the processes that have the clip among their arguments.
func children(t *testing.T, clip string) []string {
	t.Helper()
	var found []string
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, line := range lines {
		if content, err := os.ReadFile(line); err == nil && bytes.Contains(content, []byte(clip)) {
			found = append(found, line)
		}
	}
	return found
}

func TestNoProcessIsLeft(t *testing.T) {
	t.Parallel()
	// The clip is long enough that ffmpeg still runs when the iteration ends.
	clip := render(t, "long.mp4", lavfi("testsrc=s=640x360", "-t", "20", "-c:v", "libx264", "-preset", "ultrafast")...)
	opts := frames.Options{FPS: 25}

	for _, err := range frames.Sample(t.Context(), ffmpegtest.Runner(t), clip, opts) {
		require.NoError(t, err)
		require.Len(t, children(t, clip), 1)
		break
	}
	require.Empty(t, children(t, clip), "after a break")

	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	gone := errors.New("the client went away")
	var last error
	for _, err := range frames.Sample(ctx, ffmpegtest.Runner(t), clip, opts) {
		cancel(gone)
		last = err
	}
	require.ErrorIs(t, last, gone)
	require.Empty(t, children(t, clip), "after a cancel")
}

func TestStalledSourceIsGivenUp(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	defer close(release)
	_, err := collect(t, server.URL+"/clip.mp4", frames.Options{Stall: 300 * time.Millisecond})
	require.ErrorContains(t, err, "no progress")
}
