package answer_test

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
	"vqa/domain/query/english"
	"vqa/domain/query/vocabulary"
)

var prompts = []string{
	"Is there a dog?", "Is the dog absent?", "How many dogs are there?", "Are there at least 2 dogs?",
	"Are there fewer than 3 cars?", "Are there exactly 1 car?", "Is there a car?", "Is there a unicorn?",
	"Are there any animals?", "Is a dog running?", "Is a person walking?", "Is there a dog next to a cat?", "Is a person riding a horse?", "Why?", "Is there a cat and a dog?",
	"Is there a dog on the left?", "Is there a red dog?", "Are there at least 2 red dogs?", "Is there no dog on the left?",
	"Is there a cat or a dog?", "Is there a dog but no cat?", "Is there neither a cat nor a dog?", "Are there two dogs and a cat?",
	"Is there a unicorn and a dog?", "When is there a dog?", "Is there a dog in the first 2 seconds?",
	"Is there a dog and a cat at the end?", "Is a person sitting?", "Is nobody standing?", "Is someone raising a hand?",
	"How many people are lying?", "Is a person in red trousers sitting on the floor?", "Is there a person in a red shirt?", "Is there a dog after 0:50?",
}

// evidences draws evidence of every shape, also impossible ones.
func evidences(t *rapid.T, q query.Query) evidence.Evidence {
	number := rapid.OneOf(rapid.Float64Range(0, 1), rapid.Float64Range(.3, .6), rapid.SampledFrom([]float64{
		math.NaN(), math.Inf(1), math.Inf(-1), -1, 2, 0,
	}))
	box := rapid.Custom(func(t *rapid.T) evidence.Box {
		if rapid.Bool().Draw(t, "tidy") {
			return place(rapid.IntRange(0, 9).Draw(t, "place"))
		}
		return evidence.Box{X1: number.Draw(t, "x1"), Y1: number.Draw(t, "y1"), X2: number.Draw(t, "x2"), Y2: number.Draw(t, "y2")}
	})
	ev := evidence.Evidence{
		Terms:     vocabulary.COCO().Classes(q.SearchTerms...)[:rapid.IntRange(0, 40).Draw(t, "terms")],
		IntervalS: rapid.SampledFrom([]float64{.5, .5, .2, 1, 10, 0, -1, math.NaN(), math.Inf(1)}).Draw(t, "interval"),
		DurationS: rapid.SampledFrom([]float64{5, 60, .04, 0, -1, math.NaN(), math.Inf(1)}).Draw(t, "duration"),
	}
	ev.Colors = rapid.SampledFrom([][]string{{"red", "blue"}, {"red", "red/2"}}).Draw(t, "color names")
	ev.Known = rapid.SliceOfN(rapid.SampledFrom([]bool{true, true, true, false}), 0, len(ev.Terms)).Draw(t, "known")
	shades := rapid.SampledFrom([][]byte{nil, {1, 2}, shadesAt(0, 0), shadesAt(.1, .2), bytes.Repeat([]byte{255}, evidence.Cells*evidence.Cells)})
	for i := range rapid.IntRange(0, 12).Draw(t, "frames") {
		f := evidence.Frame{At: float64(i) * .5, Shades: shades.Draw(t, "shades")}
		if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
			f.At = number.Draw(t, "at") * 10
		}
		for range rapid.IntRange(0, 5).Draw(t, "detections") {
			f.Detections = append(f.Detections, evidence.Detection{
				Term:  rapid.OneOf(rapid.IntRange(0, 2), rapid.IntRange(-1, 90)).Draw(t, "term"),
				Score: number.Draw(t, "score"), Box: box.Draw(t, "box"),
				Colors: rapid.SampledFrom([][]float32{nil, {1, 0}, {0, 1}, {.5, .5}, {1}, {float32(math.NaN()), -3}}).Draw(t, "colors"),
			})
			if rapid.Bool().Draw(t, "joints") {
				d := &f.Detections[len(f.Detections)-1]
				for range rapid.SampledFrom([]int{17, 17, 17, 3}).Draw(t, "number") {
					d.Keypoints = append(d.Keypoints, evidence.Keypoint{X: number.Draw(t, "x"), Y: number.Draw(t, "y"), Score: number.Draw(t, "s")})
				}
			}
		}
		ev.Frames = append(ev.Frames, f)
	}
	return ev
}

func TestEveryResultObeysTheRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := english.Compile(rapid.SampledFrom(prompts).Draw(t, "prompt"))
		ev := evidences(t, q)
		r := answer.Decide(q, ev, answer.CPU())
		unit(t, r.Confidence)
		for _, p := range r.TermConfidences {
			unit(t, p)
		}
		require.Equal(t, r.Answer == answer.Indeterminate, r.IndeterminateReason != nil)
		if r.Answer == answer.Indeterminate {
			require.Zero(t, r.Confidence, "rule 1")
		} else {
			require.Positive(t, r.Confidence, "rule 2")
		}
		counting := q.PromptIntent == query.Count || q.PromptIntent == query.CountThreshold
		nothing := reason(r) == query.NothingDetected
		require.Equal(t, counting || nothing, r.DetectedCount != nil)
		if nothing {
			require.Zero(t, *r.DetectedCount, "rule 4")
		}
		if q.PromptIntent == query.Count && r.Answer != answer.Indeterminate {
			require.Equal(t, *r.DetectedCount > 0, r.Answer == answer.Yes, "rule 3")
		}
		if len(r.Clips) > 0 {
			require.Equal(t, answer.Yes, r.Answer, "rule 6")
			require.False(t, q.Negated, "an absence has nothing to show")
			require.Contains(t, []query.Intent{query.Presence, query.Action, query.Compound, query.Segment}, q.PromptIntent, "rule 6")
		}
		if q.PromptIntent == query.Presence && r.Answer == answer.Yes {
			require.NotEmpty(t, r.Clips, "rule 6")
		}
		checkClips(t, r)
	})
}

func unit(t *rapid.T, p float64) {
	require.False(t, math.IsNaN(p) || p < 0 || p > 1, "%v is no probability", p)
}

func checkClips(t *rapid.T, r answer.Result) {
	require.LessOrEqual(t, len(r.Clips), answer.MaxClips)
	last := -1.0
	for _, c := range r.Clips {
		require.Greater(t, c.StartS, last, "ordered and disjoint")
		require.GreaterOrEqual(t, c.StartS, 0.0)
		require.Greater(t, c.EndS, c.StartS)
		if r.VideoDurationS != nil {
			require.LessOrEqual(t, c.EndS, *r.VideoDurationS)
		}
		unit(t, c.Confidence)
		require.NotEmpty(t, c.Terms)
		last = c.EndS
	}
}

func TestOrderOfDetectionsIsIrrelevant(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := english.Compile(rapid.SampledFrom(prompts).Draw(t, "prompt"))
		ev := evidences(t, q)
		want := answer.Decide(q, ev, answer.CPU())
		shuffled := ev
		shuffled.Frames = slices.Clone(ev.Frames)
		for i, f := range shuffled.Frames {
			if len(f.Detections) > 0 {
				shuffled.Frames[i].Detections = rapid.Permutation(f.Detections).Draw(t, "order")
			}
		}
		require.Empty(t, cmp.Diff(want, answer.Decide(q, shuffled, answer.CPU())))
	})
}

func TestDecideLeavesTheEvidenceAlone(t *testing.T) {
	t.Parallel()
	q, ev := seen("How many dogs are there?", frame{.3, .8, .5}, frame{.4, .6, .9})
	_, same := seen("How many dogs are there?", frame{.3, .8, .5}, frame{.4, .6, .9})
	answer.Decide(q, ev, answer.CPU())
	require.Empty(t, cmp.Diff(same, ev))
}

func TestProbabilityRises(t *testing.T) {
	t.Parallel()
	cal := answer.CPU()
	rapid.Check(t, func(t *rapid.T) {
		class := rapid.SampledFrom([]string{"person", "dog", "car", "chair", "cup"}).Draw(t, "class")
		a, b := rapid.Float64().Draw(t, "a"), rapid.Float64().Draw(t, "b")
		pa, pb := cal.Probability(class, min(a, b)), cal.Probability(class, max(a, b))
		unit(t, pa)
		require.LessOrEqual(t, pa, pb)
		require.InDelta(t, .5, cal.Probability(class, cal.Even(class)), 1e-9)
	})
	require.InDelta(t, cal.Floor, cal.Probability("dog", math.NaN()), 1e-12)
}

func BenchmarkDecide(b *testing.B) {
	frames := make([]frame, 28_800) // four hours at two frames per second
	for i := range frames {
		frames[i] = frame{.8, .6, .4, .2}
	}
	q, ev := seen("How many dogs are there?", frames...)
	b.ReportAllocs()
	for b.Loop() {
		answer.Decide(q, ev, answer.CPU())
	}
}
