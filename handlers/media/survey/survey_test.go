package survey_test

import (
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/answer"
	"vqa/handlers/media/objects"
	"vqa/handlers/media/survey"
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

// drawn is some survey of three terms.
func drawn(r *rapid.T) survey.Survey {
	s := survey.Survey{Weights: "w", Pose: rapid.Bool().Draw(r, "pose"), Colours: rapid.Bool().Draw(r, "colours"), DecodedS: 3}
	s.Evidence = answer.Evidence{
		Terms: []string{"dog", "cat", "person"}, Known: []bool{true, false, true}, Colors: []string{"red", "blue"}, IntervalS: 0.5, DurationS: 3,
	}
	unit := rapid.Float64Range(0, 1)
	for i := range rapid.IntRange(0, 4).Draw(r, "frames") {
		f := answer.Frame{At: float64(i) / 2}
		for range rapid.IntRange(0, 4).Draw(r, "detections") {
			d := answer.Detection{
				Term: rapid.IntRange(0, 2).Draw(r, "term"), Score: unit.Draw(r, "score"),
				Box: answer.Box{X1: unit.Draw(r, "x"), Y2: unit.Draw(r, "y")},
			}
			if s.Colours {
				d.Colors = []float64{unit.Draw(r, "red"), 1}
			}
			f.Detections = append(f.Detections, d)
		}
		s.Evidence.Frames = append(s.Evidence.Frames, f)
	}
	return s
}

func TestKeptBitForBit(t *testing.T) {
	t.Parallel()
	kept := store(t)
	rapid.Check(t, func(r *rapid.T) {
		want := drawn(r)
		require.NoError(r, kept.Save(t.Context(), "video_1", want))
		got, found, err := kept.Load(t.Context(), "video_1")
		require.NoError(r, err)
		require.True(r, found)
		require.Empty(r, cmp.Diff(want, got))
	})
}

// TestForIsWhatWasAskedFor: the part of a survey equals evidence of those terms alone.
func TestForIsWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		s := drawn(r)
		part := s.For([]string{"person", "dog"})
		require.Equal(r, []bool{true, true}, part.Known)
		require.Len(r, part.Frames, len(s.Evidence.Frames))
		names := func(ev answer.Evidence, f answer.Frame) []string {
			var all []string
			for _, d := range f.Detections {
				if name := ev.Terms[d.Term]; name != "cat" {
					all = append(all, name)
				}
			}
			return all
		}
		for i := range part.Frames {
			require.Equal(r, names(s.Evidence, s.Evidence.Frames[i]), names(part, part.Frames[i]))
		}
	})
}

func TestCovers(t *testing.T) {
	t.Parallel()
	s := survey.Survey{Weights: "w", Colours: true, Evidence: answer.Evidence{Terms: []string{"dog", "cat"}, IntervalS: 0.5}}
	for name, tt := range map[string]struct {
		need survey.Need
		want bool
	}{
		"the same":           {survey.Need{Weights: "w", Terms: []string{"cat", "dog"}, IntervalS: 0.5, Colours: true}, true},
		"less":               {survey.Need{Weights: "w", Terms: []string{"dog"}, IntervalS: 0.5}, true},
		"another model":      {survey.Need{Weights: "v", Terms: []string{"dog"}, IntervalS: 0.5}, false},
		"another term":       {survey.Need{Weights: "w", Terms: []string{"dog", "cow"}, IntervalS: 0.5}, false},
		"joints":             {survey.Need{Weights: "w", Terms: []string{"dog"}, IntervalS: 0.5, Pose: true}, false},
		"a closer look":      {survey.Need{Weights: "w", Terms: []string{"dog"}, IntervalS: 0.25}, false},
		"nothing of a model": {survey.Need{IntervalS: 0.5}, false},
	} {
		require.Equal(t, tt.want, s.Covers(tt.need), name)
	}
}

func TestWhatIsKnownStaysKnown(t *testing.T) {
	t.Parallel()
	s := survey.Survey{Weights: "w", Colours: true, Evidence: answer.Evidence{Terms: []string{"dog", "cat"}, IntervalS: 0.5}}
	n := survey.Need{Weights: "w", Terms: []string{"cow", "dog"}, IntervalS: 0.5, Pose: true}
	require.Equal(t, survey.Need{Weights: "w", Terms: []string{"cow", "dog", "cat"}, IntervalS: 0.5, Pose: true, Colours: true}, n.Or(s))
	n.Weights = "v"
	require.Equal(t, n, n.Or(s), "another model knows nothing of it")
}

func TestWhatCannotBeReadIsNone(t *testing.T) {
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
	require.Error(t, err, "it is said in the log")
	require.False(t, found)
}
