package jobs

import (
	"context"
	"crypto/sha256"
	"flag"
	"log/slog"
	"math/rand/v2"
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
	"vqa/domain/query/english"
	"vqa/domain/video"
	"vqa/gpu"
	"vqa/handlers/intake/ffmpeg"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
	"vqa/handlers/survey"
)

// square is an engine that reports a crowded square in every frame: 60 objects, most of
// them people, each with keypoints and colors. Like a real engine it places them a little
// differently in each frame, and the same frame has the same detections.
type square struct{ watchman }

const inSquare = 60

// squareFor is the length of the video. Four hours of it take minutes for each question.
var squareFor = flag.Duration("square", 10*time.Minute, "length of the video of BenchmarkSquare, whole minutes")

// Info implements gpu.Engine.
func (s *square) Info(ctx context.Context) (gpu.Info, error) {
	info, err := s.watchman.Info(ctx)
	for _, part := range []string{"", "/1", "/2", "/3", "/4"} {
		for _, name := range []string{"black", "white", "gray", "red", "orange", "yellow", "green", "blue", "purple", "pink", "brown"} {
			info.Colors = append(info.Colors, name+part)
		}
	}
	info.Shades = true
	return info, err
}

// Detect implements gpu.Engine.
func (s *square) Detect(_ context.Context, req gpu.Request) (gpu.Response, error) {
	resp := gpu.Response{Frames: make([][]evidence.Detection, len(req.Frames)), Known: make([]bool, len(req.Terms))}
	classes := map[string]int{}
	for i, name := range req.Terms {
		resp.Known[i], classes[name] = true, i
	}
	for i, picture := range req.Frames {
		r := rand.New(rand.NewChaCha8(sha256.Sum256(picture)))
		for k := range inSquare {
			class := "person"
			if k%5 == 4 {
				class = []string{"backpack", "bicycle", "car"}[k/5%3]
			}
			resp.Frames[i] = append(resp.Frames[i], thing(r, k, classes[class], req.WantPose))
		}
		shades := make([]byte, evidence.Cells*evidence.Cells)
		for k := range shades {
			shades[k] = byte(k/evidence.Cells) ^ byte(r.UintN(2))
		}
		resp.Shades = append(resp.Shades, shades)
	}
	return resp, nil
}

// thing is the object at place k of the square. All numbers have the precision of a real
// engine.
func thing(r *rand.Rand, k, term int, pose bool) evidence.Detection {
	narrow := func(x float64) float64 { return float64(float32(x)) }
	x, y := .02+.095*float64(k%10), .05+.15*float64(k/10)
	near := func(x, by float64) float64 { return narrow(x + by*(r.Float64()-.5)) }
	d := evidence.Detection{
		Term: term, Score: near(.3+.01*float64(k), .05),
		Box: evidence.Box{X1: near(x, .004), Y1: near(y, .004), X2: near(x+.05, .004), Y2: near(y+.13, .004)},
	}
	if pose {
		for j := range 17 {
			d.Keypoints = append(d.Keypoints, evidence.Keypoint{X: near(x+.025, .04), Y: near(y+.0076*float64(j), .004), Score: near(.5, .8)})
		}
	}
	const pixels = 384
	d.Colors = make([]float32, 55)
	for part := range 5 {
		first, left := r.IntN(11), pixels
		for n := range 4 {
			share := r.IntN(left + 1)
			d.Colors[11*part+(first+n)%11] = float32(share) / pixels
			left -= share
		}
	}
	return d
}

// BenchmarkSquare examines a crowded square for each kind of question, and answers it
// twice, the second time from the stored survey. kept-MB is the size of that survey.
// peak-MB is the largest memory of the process so far, so run each question in a process of
// its own:
//
//	go test ./handlers/jobs -run '^$' -bench Square/sitting -benchtime 1x -square 4h
func BenchmarkSquare(b *testing.B) {
	minutes := int(squareFor.Minutes())
	path := filepath.Join(b.TempDir(), "long.mp4")
	short := filepath.Join(b.TempDir(), "short.mp4")
	for _, args := range [][]string{
		{"-f", "lavfi", "-i", "testsrc2=s=64x36:r=8:d=60", "-g", "40", "-preset", "veryfast", short},
		{"-stream_loop", strconv.Itoa(minutes - 1), "-i", short, "-c", "copy", path},
	} {
		out, err := exec.CommandContext(b.Context(), "ffmpeg", append([]string{"-v", "error"}, args...)...).CombinedOutput()
		require.NoError(b, err, "%s", out)
	}
	for _, prompt := range []string{
		"Is there a person?", "Is there a person in a red shirt?", "Is anybody sitting?", "Does anybody jump?", "How many people are there?",
	} {
		words := strings.Fields(strings.TrimSuffix(prompt, "?"))
		b.Run(words[len(words)-1], func(b *testing.B) {
			for b.Loop() {
				engine, durationS := &square{}, float64(60*minutes)
				q := english.Compile(prompt)
				kept := newObjects(b)
				z := &Analyzer{
					Surveys: survey.Store{Objects: kept}, Engine: engine, FFmpeg: ffmpegtest.Runner(b), Log: slog.New(slog.DiscardHandler),
					Calibrations: answer.Calibrations{"fixture": answer.CPU()},
				}
				p := &examination{engine: engine, ffmpeg: z.FFmpeg, source: ffmpeg.Source{Name: path}, query: q, durationS: &durationS, pose: answer.NeedsPose(q), patience: time.Minute}
				for _, time := range []string{"first", "second"} {
					answered(b, z, p, time)
				}
				object, err := kept.Stat(b.Context(), survey.Key("vid_1"))
				require.NoError(b, err)
				b.ReportMetric(float64(object.SizeBytes)/1e6, "kept-MB")
			}
			b.ReportMetric(peakMB(b), "peak-MB")
		})
	}
}

// answered answers a question and reports how long that took.
func answered(b *testing.B, z *Analyzer, p *examination, name string) {
	b.Helper()
	began := time.Now()
	s, err := z.survey(b.Context(), video.State{ID: "vid_1"}, p, noProgress)
	require.NoError(b, err)
	defer s.close()
	b.ReportMetric(time.Since(began).Seconds(), name+"-look-s")
	began = time.Now()
	answer.Decide(p.query, s.Evidence, s.rules)
	b.ReportMetric(time.Since(began).Seconds(), name+"-decide-s")
	b.ReportMetric(float64(s.frameCount()), "pictures")
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
