package onnx_test

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"vqa/gpu"
	"vqa/gpu/worker"
)

// tolerance is the largest difference of a score, of a color's share, and of a coordinate as a
// share of the frame.
const tolerance = 1e-3

// clipFrames are one frame for each second of a clip, as JPEG files.
func clipFrames(t *testing.T, clip, scale string) [][]byte {
	t.Helper()
	folder := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-i", clip, "-vf", "fps=1,"+scale, "-q:v", "1", filepath.Join(folder, "%03d.jpg")).CombinedOutput()
	require.NoError(t, err, string(out))
	files, err := filepath.Glob(filepath.Join(folder, "*.jpg"))
	require.NoError(t, err)
	return read(t, files...)
}

func read(t *testing.T, files ...string) [][]byte {
	t.Helper()
	var contents [][]byte
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		contents = append(contents, content)
	}
	return contents
}

// TestAgreesWithTheWorker shows frames to this server and to the embedded worker, with the same
// models. Each has code of its own around them.
func TestAgreesWithTheWorker(t *testing.T) {
	t.Parallel()
	served := client(t, serve(t, "models/centernet.toml", "--pose", "models/movenet.toml"))
	w, err := worker.Start(t.Context(), worker.Options{Threads: 1, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(w.Close)
	embedded := w.Engine()

	want, err := embedded.Info(t.Context())
	require.NoError(t, err)
	got, err := served.Info(t.Context())
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(want, got, cmpopts.IgnoreFields(gpu.Info{}, "Worker", "Concurrency", "PPM")))

	const demo = "../../handlers/intake/demo/clips/"
	frames := read(t, "../worker/testdata/stop-sign.jpg", "testdata/person.jpg")
	frames = append(frames, clipFrames(t, demo+"stop-signs.mp4", "null")...)
	frames = append(frames, clipFrames(t, demo+"tennis-ball.mp4", "scale=406:720")...)        // is shrunk
	frames = append(frames, clipFrames(t, demo+"kites.mp4", "crop=360:200,scale=900:500")...) // is shrunk
	detections, people := 0, 0
	for i, frame := range frames {
		req := gpu.Request{Frames: [][]byte{frame}, Terms: want.Vocabulary, WantPose: true, WantColors: true, WantShades: true}
		a, err := embedded.Detect(t.Context(), req)
		require.NoError(t, err)
		b, err := served.Detect(t.Context(), req)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(a, b, cmpopts.EquateApprox(0, tolerance)), "frame %d", i)

		turned := gpu.Request{Frames: [][]byte{frame}, Terms: want.Vocabulary, WantRotations: true}
		c, err := embedded.Detect(t.Context(), turned)
		require.NoError(t, err)
		d, err := served.Detect(t.Context(), turned)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(c, d, cmpopts.EquateApprox(0, tolerance)), "frame %d, turned", i)
		detections += len(a.Frames[0])
		for _, d := range a.Frames[0] {
			if d.Keypoints != nil {
				people++
			}
		}
	}
	t.Logf("%d detections in %d frames, %d people", detections, len(frames), people)
	require.Positive(t, people)
	require.Greater(t, detections, 100)
}
