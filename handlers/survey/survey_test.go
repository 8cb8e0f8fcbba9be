package survey_test

import (
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/handlers/objects"
	"vqa/handlers/survey"
)

func store(t *testing.T) survey.Store {
	t.Helper()
	o, err := objects.Open(t.Context(), objects.Options{
		Dir: t.TempDir(), PublicURL: "http://service.example", SigningKey: make([]byte, 32), Now: time.Now,
		WriteError: func(http.ResponseWriter, *http.Request, error) {}, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, o.Close()) })
	return survey.Store{Objects: o}
}

// engine made the detections.
var engine = answer.Engine{Name: "detect", Weights: "w", Digest: "d", Worker: "x/1"}

// drawn is a random survey of three terms.
func drawn(r *rapid.T) survey.Survey {
	s := survey.Survey{Engine: engine, StepS: .5, Whole: true, DecodedS: 3}
	colors := rapid.Bool().Draw(r, "colors")
	s.Evidence = evidence.Evidence{
		Terms: []string{"dog", "cat", "person"}, Known: []bool{true, false, true}, Colors: []string{"red", "blue"}, IntervalS: 0.5, DurationS: 3,
	}
	unit := rapid.Float64Range(0, 1)
	for i := range rapid.IntRange(0, 4).Draw(r, "frames") {
		f := evidence.Frame{At: float64(i) / 2, Shades: []byte{byte(i), 31}}
		for range rapid.IntRange(0, 4).Draw(r, "detections") {
			d := evidence.Detection{
				Term: rapid.IntRange(0, 2).Draw(r, "term"), Score: unit.Draw(r, "score"),
				Box: evidence.Box{X1: unit.Draw(r, "x"), Y2: unit.Draw(r, "y")},
			}
			if rapid.Bool().Draw(r, "posed") {
				d.Keypoints = make([]evidence.Keypoint, 17)
				d.Keypoints[3] = evidence.Keypoint{X: unit.Draw(r, "x"), Score: float64(rapid.Float32Range(0, 1).Draw(r, "narrow"))}
			}
			if colors {
				d.Colors = []float32{rapid.Float32Range(0, 1).Draw(r, "red"), 1}
			}
			f.Detections = append(f.Detections, d)
		}
		require.NoError(r, s.Add(survey.Scan{Frames: []evidence.Frame{f}, Pose: i%2 == 0}))
		f.At += .125
		require.NoError(r, s.Add(survey.Scan{At: []float64{f.At, f.At + .125}, Frames: []evidence.Frame{f}, Fine: true}))
	}
	return s
}

func TestSurveysAreStoredBitForBit(t *testing.T) {
	t.Parallel()
	kept := store(t)
	rapid.Check(t, func(r *rapid.T) {
		want := drawn(r)
		require.NoError(r, kept.Save(t.Context(), "video_1", want))
		got, found, err := kept.Load(t.Context(), "video_1")
		require.NoError(r, err)
		require.True(r, found)
		require.Empty(r, diff(want, got))
		require.NoError(r, errors.Join(got.Err(), got.Close(), want.Close()))
	})
}

// diff compares two surveys, with the details of their frames.
func diff(want, got survey.Survey) string {
	frames := cmp.Transformer("frames", func(kept []evidence.Frame) []seen {
		var all []seen
		for _, f := range kept {
			f = f.Load(true)
			all = append(all, seen{f.At, f.Detections, f.Shades})
		}
		return all
	})
	return cmp.Diff(want, got, frames, cmpopts.IgnoreUnexported(survey.Survey{}))
}

type seen struct {
	At         float64
	Detections []evidence.Detection
	Shades     []byte
}

// TestLoadWithoutDetails: without details, Load returns the same detections without keypoints,
// colors and shades.
func TestLoadWithoutDetails(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		s := drawn(r)
		for _, f := range append(s.Evidence.Frames, s.For([]string{"cat"}).Fine...) {
			want := f.Load(true).Detections
			for i := range want {
				want[i].Keypoints, want[i].Colors = nil, nil
			}
			require.Equal(r, evidence.Frame{At: f.At, Detections: want}, f.Load(false))
		}
		require.NoError(r, errors.Join(s.Err(), s.Close()))
	})
}

// TestFor: the evidence for some terms has the detections of these terms only.
func TestFor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		s := drawn(r)
		part := s.For([]string{"person", "dog"})
		require.Equal(r, []bool{true, true}, part.Known)
		require.Len(r, part.Frames, len(s.Evidence.Frames))
		require.Len(r, part.Fine, len(s.Evidence.Fine))
		names := func(ev evidence.Evidence, f evidence.Frame) []string {
			var all []string
			for _, d := range f.Load(false).Detections {
				if name := ev.Terms[d.Term]; name != "cat" {
					all = append(all, name)
				}
			}
			return all
		}
		for i := range part.Frames {
			require.Equal(r, s.Evidence.Frames[i].Load(true).Shades, part.Frames[i].Load(true).Shades)
			require.Equal(r, names(s.Evidence, s.Evidence.Frames[i]), names(part, part.Frames[i]))
			require.Equal(r, names(s.Evidence, s.Evidence.Fine[i]), names(part, part.Fine[i]))
		}
	})
}

func TestCovers(t *testing.T) {
	t.Parallel()
	s := survey.Survey{Engine: engine, Evidence: evidence.Evidence{Terms: []string{"dog", "cat"}}}
	newer, other := engine, engine
	newer.Worker, other.Digest = "x/2", "e"
	for name, tt := range map[string]struct {
		engine answer.Engine
		terms  []string
		want   bool
	}{
		"the same":                  {engine, []string{"cat", "dog"}, true},
		"less":                      {engine, []string{"dog"}, true},
		"another term":              {engine, []string{"dog", "cow"}, false},
		"other weights":             {other, []string{"dog"}, false},
		"another version of worker": {newer, []string{"dog"}, false},
	} {
		require.Equal(t, tt.want, s.Covers(tt.engine, tt.terms), name)
	}
	require.Equal(t, []string{"cow", "dog", "cat"}, s.With([]string{"cow", "dog"}), "the terms of the survey stay")
}

// TestTheOrderOfScansMakesNoDifference: a survey is a set of examined instants.
func TestTheOrderOfScansMakesNoDifference(t *testing.T) {
	t.Parallel()
	frame := func(at float64) evidence.Frame {
		return evidence.Frame{At: at, Detections: []evidence.Detection{{Score: at / 10}}}
	}
	scans := []survey.Scan{
		{Frames: []evidence.Frame{frame(0), frame(2), frame(4)}},
		{At: []float64{2.5, 3}, Frames: []evidence.Frame{frame(2.5), frame(3)}},
		{At: []float64{3.5, 4.5}, Frames: []evidence.Frame{frame(3.5)}, Pose: true},
		{At: []float64{2.125, 2.25}, Frames: []evidence.Frame{frame(2.125), frame(2.25)}, Fine: true},
	}
	var want survey.Survey
	for _, l := range scans {
		require.NoError(t, want.Add(l))
	}
	require.Equal(t, []float64{0, 2, 2.125, 2.25, 2.5, 3, 3.5, 4, 4.5}, want.Examined)
	require.Equal(t, []float64{3.5, 4.5}, want.Posed)
	rapid.Check(t, func(r *rapid.T) {
		var got survey.Survey
		for _, l := range rapid.Permutation(scans).Draw(r, "order") {
			require.NoError(r, got.Add(l))
		}
		require.Empty(r, diff(want, got))
		require.NoError(r, got.Close())
	})
	require.Equal(t, []float64{1, 5}, survey.Missing([]float64{1, 2, 4.5, 5}, want.Examined), "4.5 was examined, although the video has no frame there")
	require.Equal(t, []float64{2, 4}, survey.Missing([]float64{2, 3.5, 4}, want.Posed))

	joints := frame(2)
	joints.Detections[0].Keypoints = make([]evidence.Keypoint, 17)
	require.NoError(t, want.Add(survey.Scan{At: []float64{2}, Frames: []evidence.Frame{joints}, Pose: true}))
	require.Equal(t, joints, want.Evidence.Frames[1].Load(true), "the newer scan replaces the frame")
	require.Len(t, want.Evidence.Frames, 6)
}

func TestDamagedObjectsCountAsMissing(t *testing.T) {
	t.Parallel()
	kept := store(t)
	_, found, err := kept.Load(t.Context(), "video_1")
	require.NoError(t, err)
	require.False(t, found)
	out, err := kept.Objects.Writer(t.Context(), survey.Key("video_1"), "application/octet-stream", 1<<20)
	require.NoError(t, err)
	_, err = out.Write([]byte("damaged"))
	require.NoError(t, err)
	require.NoError(t, out.Commit())
	_, found, err = kept.Load(t.Context(), "video_1")
	require.Error(t, err, "the caller logs the error")
	require.False(t, found)
}
