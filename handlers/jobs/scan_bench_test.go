package jobs

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
	"vqa/domain/video"
	"vqa/gpu"
	"vqa/handlers/intake/ffmpeg"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
	"vqa/handlers/survey"
)

// crowd is an engine that reports in every frame as much as the embedded model did in the
// most crowded frame of some real clips: 85 objects, 27 of them with a score at which
// colors are kept.
type crowd struct{ watchman }

// bodyColors are the columns of the embedded model: 11 colors, for a box and its quarters.
const bodyColors = 55

// Detect implements gpu.Engine.
func (*crowd) Detect(_ context.Context, req gpu.Request) (gpu.Response, error) {
	resp := gpu.Response{Frames: make([][]evidence.Detection, len(req.Frames)), Known: make([]bool, len(req.Terms))}
	for i := range resp.Frames {
		for k := range 85 {
			score := .05
			if k < 27 {
				score = .2 + .01*float64(k)
			}
			resp.Frames[i] = append(resp.Frames[i], evidence.Detection{
				Term: k % len(req.Terms), Score: score, Box: evidence.Box{X1: .1, Y1: .1, X2: .4, Y2: .9}, Colors: make([]float32, bodyColors),
			})
		}
	}
	return resp, nil
}

// Info implements gpu.Engine.
func (c *crowd) Info(ctx context.Context) (gpu.Info, error) {
	info, err := c.watchman.Info(ctx)
	info.Colors = make([]string, bodyColors)
	return info, err
}

// BenchmarkLongVideo examines an hour of video with an engine that takes no time. It
// measures the decoding and the memory of the evidence. The question is about an object
// that is visible throughout (dense), or never (coarse). second-s is the time to read the
// evidence again, peak-MB the largest memory of the process so far.
func BenchmarkLongVideo(b *testing.B) {
	const seconds = 3600
	path := filepath.Join(b.TempDir(), "long.mp4")
	short := filepath.Join(b.TempDir(), "short.mp4")
	for _, args := range [][]string{
		{"-f", "lavfi", "-i", "testsrc2=s=640x360:r=10:d=60", "-g", "50", "-preset", "veryfast", short},
		{"-stream_loop", strconv.Itoa(seconds/60 - 1), "-i", short, "-c", "copy", path},
	} {
		out, err := exec.CommandContext(b.Context(), "ffmpeg", append([]string{"-v", "error"}, args...)...).CombinedOutput()
		require.NoError(b, err, "%s", out)
	}
	for name, prompt := range map[string]string{"dense": "Is there a bus?", "coarse": "Is there a toothbrush?"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				engine, durationS := &crowd{}, float64(seconds)
				z := &Analyzer{
					Surveys: survey.Store{Objects: newObjects(b)}, Engine: engine, FFmpeg: ffmpegtest.Runner(b), Log: slog.New(slog.DiscardHandler),
					Calibrations: answer.Calibrations{"fixture": answer.CPU()},
				}
				p := &examination{engine: engine, ffmpeg: z.FFmpeg, source: ffmpeg.Source{Name: path}, query: query.Compile(prompt), durationS: &durationS, patience: time.Minute}
				s, err := z.survey(b.Context(), video.State{ID: "vid_1"}, p, func(context.Context, float64) error { return nil })
				require.NoError(b, err)
				b.ReportMetric(float64(len(s.Frames)), "frames")
				b.ReportMetric(float64(len(s.Fine)), "fine")
				s.close()
				began := time.Now() // the first evidence is released
				s, err = z.survey(b.Context(), video.State{ID: "vid_1"}, p, func(context.Context, float64) error { return nil })
				require.NoError(b, err)
				s.close()
				b.ReportMetric(time.Since(began).Seconds(), "second-s")
			}
			b.ReportMetric(peakMB(b), "peak-MB")
		})
	}
}

// peakMB is the largest memory of this process so far.
func peakMB(b *testing.B) float64 {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(b, err)
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmHWM:" {
			kb, err := strconv.ParseFloat(fields[1], 64)
			require.NoError(b, err)
			return kb / 1024
		}
	}
	b.Fatal("no VmHWM")
	return 0
}
