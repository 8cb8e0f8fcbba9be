package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/jpeg"
	"log/slog"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query/english"
	"vqa/domain/query/vocabulary"
	"vqa/domain/sampling"
	"vqa/domain/video"
	"vqa/gpu"
	"vqa/gpu/frames"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
	"vqa/handlers/objects"
	"vqa/handlers/survey"
)

// watchman is an engine that reports a person and a stop sign in bright frames, and nothing
// in dark ones.
type watchman struct {
	mu sync.Mutex
	// looked counts the frames, posed those with a pose.
	looked, posed int
}

// Ready implements gpu.Engine.
func (*watchman) Ready(context.Context) error { return nil }

// Info implements gpu.Engine.
func (*watchman) Info(context.Context) (gpu.Info, error) {
	return gpu.Info{Name: "watchman", Weights: "fixture", Vocabulary: vocabulary.COCO().Names(), Concurrency: 2}, nil
}

// Detect implements gpu.Engine.
func (w *watchman) Detect(_ context.Context, req gpu.Request) (gpu.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	resp := gpu.Response{Frames: make([][]evidence.Detection, len(req.Frames)), Known: slices.Repeat([]bool{true}, len(req.Terms))}
	for i, picture := range req.Frames {
		img, err := jpeg.Decode(bytes.NewReader(picture))
		if err != nil {
			return gpu.Response{}, &gpu.InferenceError{Err: err}
		}
		w.looked++
		if req.WantPose {
			w.posed++
		}
		if bright, _, _, _ := img.At(8, 8).RGBA(); bright < 1<<15 {
			continue
		}
		for term, name := range req.Terms {
			d := evidence.Detection{Term: term, Score: .9, Box: evidence.Box{X1: .1, Y1: .1, X2: .4, Y2: .9}}
			switch name {
			case "person":
				if req.WantPose {
					d.Keypoints = make([]evidence.Keypoint, 17)
				}
			case "stop sign":
				d.Box = evidence.Box{X1: .6, Y1: .1, X2: .8, Y2: .4}
			default:
				continue
			}
			resp.Frames[i] = append(resp.Frames[i], d)
		}
	}
	return resp, nil
}

// watchedVideo is a video that is bright for some time, with its analyzer and engine.
type watchedVideo struct {
	*Analyzer
	engine    *watchman
	source    string
	durationS float64
	// progress are the reported times, in seconds.
	progress []float64
}

// newWatch renders a video with 8 frames per second.
func newWatch(t *testing.T, durationS, from, to float64) *watchedVideo {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clip.mp4")
	picture := fmt.Sprintf("color=black:s=16x16:r=8:d=%v,drawbox=color=white:t=fill:enable='gte(t,%v)*lt(t,%v)'", durationS, from, to)
	out, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-f", "lavfi", "-i", picture, "-g", "40", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	engine := &watchman{}
	return &watchedVideo{engine: engine, source: path, durationS: durationS, Analyzer: &Analyzer{
		Surveys: survey.Store{Objects: newObjects(t)}, Engine: engine, FFmpeg: ffmpegtest.Runner(t), Log: slog.New(slog.DiscardHandler),
		Calibrations: answer.Calibrations{"fixture": answer.CPU()},
	}}
}

func newObjects(t testing.TB) *objects.Store {
	t.Helper()
	store, err := objects.Open(t.Context(), objects.Options{
		Dir: t.TempDir(), PublicURL: "http://service.example", SigningKey: make([]byte, 32), Now: time.Now,
		WriteError: func(http.ResponseWriter, *http.Request, error) {}, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// ask returns the evidence for a question, the number of frames that were examined for it,
// and how many of them with a pose.
func (w *watchedVideo) ask(t *testing.T, prompt string) (s examined, looked, posed int) {
	t.Helper()
	q := english.Compile(prompt)
	return w.see(t, &examination{query: q, pose: answer.NeedsPose(q)})
}

func (w *watchedVideo) see(t *testing.T, p *examination) (s examined, looked, posed int) {
	t.Helper()
	looked, posed = w.engine.looked, w.engine.posed
	p.engine, p.ffmpeg, p.source.Name, p.durationS, p.patience = w.engine, w.FFmpeg, w.source, &w.durationS, time.Minute
	w.progress = nil
	s, err := w.survey(t.Context(), video.State{ID: "vid_1"}, p, func(_ context.Context, atS float64) error {
		w.progress = append(w.progress, atS)
		return nil
	})
	require.NoError(t, err)
	s.Evidence = inMemory(s.Evidence)
	require.NoError(t, errors.Join(s.survey.Err(), s.survey.Close()))
	require.True(t, slices.IsSorted(w.progress), "progress never falls: %v", w.progress)
	require.True(t, len(w.progress) == 0 || w.progress[len(w.progress)-1] <= w.durationS)
	return s, w.engine.looked - looked, w.engine.posed - posed
}

// inMemory loads all frames of some evidence.
func inMemory(ev evidence.Evidence) evidence.Evidence {
	hold := func(kept []evidence.Frame) (held []evidence.Frame) {
		for _, f := range kept {
			held = append(held, f.Load(true))
		}
		return held
	}
	ev.Frames, ev.Fine = hold(ev.Frames), hold(ev.Fine)
	return ev
}

func clipOf(t *testing.T, s examined, prompt string) (startS, endS float64) {
	t.Helper()
	r := answer.Decide(english.Compile(prompt), s.Evidence, s.rules)
	require.Equal(t, answer.Yes, r.Answer)
	require.Len(t, r.Clips, 1)
	return r.Clips[0].StartS, r.Clips[0].EndS
}

// TestEdgesAreScannedFinely: 12 samples, and 3 frames at each of two edges.
func TestEdgesAreScannedFinely(t *testing.T) {
	t.Parallel()
	w := newWatch(t, 6, 1.75, 4.375)
	first, looked, posed := w.ask(t, "Is there a stop sign?")
	require.Equal(t, 12+6, looked)
	require.Zero(t, posed)
	start, end := clipOf(t, first, "Is there a stop sign?")
	require.InDelta(t, 1.75, start, .0635)
	require.InDelta(t, 4.375, end, .0635)

	again, looked, _ := w.ask(t, "Is there a stop sign?")
	require.Zero(t, looked)
	require.Empty(t, cmp.Diff(first.Evidence, again.Evidence), "the same question has the same evidence")
	other, looked, _ := w.ask(t, "Is there a person?")
	require.Zero(t, looked, "the edges of all detections are known")
	start, end = clipOf(t, other, "Is there a person?")
	require.InDelta(t, 1.75, start, .0635)
	require.InDelta(t, 4.375, end, .0635)
}

// TestKeypointsAreAddedWherePeopleAre: a later question examines the frames with people
// again.
func TestKeypointsAreAddedWherePeopleAre(t *testing.T) {
	t.Parallel()
	w := newWatch(t, 6, 1.75, 4.375)
	_, _, _ = w.ask(t, "Is there a person?")
	later, looked, posed := w.ask(t, "Is a person sitting?")
	require.Equal(t, 5+4, posed, "5 samples are bright, and 2 fine frames at each edge")
	require.Equal(t, posed, looked)
	_, looked, _ = w.ask(t, "Is a person standing?")
	require.Zero(t, looked)

	fresh := newWatch(t, 6, 1.75, 4.375)
	first, looked, posed := fresh.ask(t, "Is a person sitting?")
	require.Equal(t, 12+6, looked, "one scan serves both")
	require.Equal(t, looked, posed)
	require.Empty(t, cmp.Diff(first.Evidence, later.Evidence), "independent of earlier questions")
}

// asked is a list of open questions about one video.
type asked []string

// OpenAnalyses implements OpenQuestions.
func (a asked) OpenAnalyses(context.Context) ([]analysis.State, error) {
	var open []analysis.State
	for _, prompt := range a {
		open = append(open, analysis.State{VideoID: "vid_1", Query: english.Compile(prompt)})
	}
	return open, nil
}

// TestOneScanServesABatch: the scan for the first question includes what the others need.
func TestOneScanServesABatch(t *testing.T) {
	t.Parallel()
	w := newWatch(t, 6, 1.75, 4.375)
	w.Open = asked{"Is there a stop sign?", "Is a person sitting?"}
	_, looked, posed := w.ask(t, "Is there a stop sign?")
	require.Equal(t, 12+6, looked)
	require.Equal(t, looked, posed)
	_, looked, _ = w.ask(t, "Is a person sitting?")
	require.Zero(t, looked)
}

// TestJumpsAndFallsAreScannedDensely: a person is visible in 5 samples, with 3 fine frames
// between two of them.
func TestJumpsAndFallsAreScannedDensely(t *testing.T) {
	t.Parallel()
	const prompt = "Does someone fall?"
	w := newWatch(t, 6, 1.75, 4.375)
	before, _, _ := w.ask(t, "Is there a person?")
	later, looked, _ := w.ask(t, prompt)
	require.Equal(t, 4*3, looked)
	require.Len(t, later.Fine, 6+12)
	_, looked, _ = w.ask(t, prompt)
	require.Zero(t, looked)
	again, looked, _ := w.ask(t, "Is there a person?")
	require.Zero(t, looked)
	require.Empty(t, cmp.Diff(before.Evidence, again.Evidence), "the evidence for another question stays as it was")

	fresh := newWatch(t, 6, 1.75, 4.375)
	first, looked, _ := fresh.ask(t, prompt)
	require.Equal(t, 12+6+12, looked)
	require.Empty(t, cmp.Diff(first.Evidence, later.Evidence), "independent of earlier questions")
}

// TestLongVideosAreScannedCoarselyFirst: a frame every 2 s, and close-ups around the one
// that shows the subject.
func TestLongVideosAreScannedCoarselyFirst(t *testing.T) {
	t.Parallel()
	w := newWatch(t, 610, 300.25, 303.625)
	first, looked, _ := w.ask(t, "Is there a stop sign?")
	require.Equal(t, 305+6+6, looked, "the samples, those of 300.5 to 303.5 s, and two edges")
	start, end := clipOf(t, first, "Is there a stop sign?")
	require.InDelta(t, 300.25, start, .0635)
	require.InDelta(t, 303.625, end, .0635)

	absent, looked, _ := w.ask(t, "Is there a dog?")
	require.Zero(t, looked)
	require.Len(t, absent.Frames, 305)
	require.Equal(t, answer.No, answer.Decide(english.Compile("Is there a dog?"), absent.Evidence, absent.rules).Answer)
	again, looked, _ := w.ask(t, "Is there a stop sign?")
	require.Zero(t, looked)
	require.Empty(t, cmp.Diff(first.Evidence, again.Evidence))

	_, looked, posed := w.ask(t, "Is a person sitting?")
	require.Equal(t, 7+2, posed, "the frames with a person")
	require.Equal(t, posed, looked)
	all, looked, _ := w.see(t, &examination{everything: true})
	require.Zero(t, looked)
	require.Len(t, all.Frames, 305)
	require.InDelta(t, 2, all.IntervalS, 0)
}

// TestColorsOfNoiseAreNotKept bounds the memory of long videos.
func TestColorsOfNoiseAreNotKept(t *testing.T) {
	t.Parallel()
	colors := []float32{1}
	got := scan{colorsFrom: .2}.keep([]evidence.Detection{{Score: .1, Colors: colors}, {Score: .2, Colors: colors}})
	require.Empty(t, cmp.Diff([]evidence.Detection{{Score: .1}, {Score: .2, Colors: colors}}, got))
}

func TestDecodes(t *testing.T) {
	t.Parallel()
	runs := scan{stepS: sampling.BaseStepS, at: []float64{1, 1.5, 2, 6.5, 7, 13, 13.5}}.decodes()
	require.Len(t, runs, 2, "after 6 s, decoding starts again from a keyframe")
	require.Len(t, runs[0].Within, 2)
	require.InDelta(t, 7, runs[0].Within[1].To, 0)
	var many []float64
	for i := range 10 * frames.MaxIntervals {
		many = append(many, float64(i))
	}
	require.Len(t, scan{stepS: sampling.FineStepS, at: many}.decodes(), 10, "a command takes this many intervals")
	require.True(t, scan{stepS: sampling.CoarseStepS}.decodes()[0].Coarse)
	require.False(t, scan{stepS: sampling.BaseStepS}.decodes()[0].Coarse)
}
