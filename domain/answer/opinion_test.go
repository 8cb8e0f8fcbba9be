package answer_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
	"vqa/domain/query/english"
)

// unsure is the first result of a question that the detector cannot answer.
func unsure(prompt string) (query.Query, answer.Result) {
	q := english.Compile(prompt)
	return q, answer.Decide(q, evidence.Evidence{Terms: []string{"dog"}, Known: []bool{false}, IntervalS: .5, DurationS: 8}, answer.CPU())
}

func TestOpinion(t *testing.T) {
	t.Parallel()
	yes := answer.Opinion{Answer: answer.Yes, Confidence: .9, ShownAtS: []float64{2, 3, 6}, StepS: 1}
	no := answer.Opinion{Answer: answer.No, Confidence: .6, StepS: 1}
	with := func(o answer.Opinion, change func(*answer.Opinion)) answer.Opinion { change(&o); return o }
	count := func(o answer.Opinion, n int) answer.Opinion { o.Count = &n; return o }
	sparse := func(o answer.Opinion) answer.Opinion { o.StepS = 5; return o }
	for name, tt := range map[string]struct {
		prompt     string
		opinion    answer.Opinion
		want       answer.Answer
		confidence float64
		clips      [][2]float64
	}{
		"an unknown thing":           {"Is there a unicorn?", yes, answer.Yes, .69, [][2]float64{{1.5, 3.5}, {5.5, 6.5}}},
		"an action":                  {"Is a person juggling?", yes, answer.Yes, .69, [][2]float64{{1.5, 3.5}, {5.5, 6.5}}},
		"a state has no clips":       {"Is the door open?", yes, answer.Yes, .69, nil},
		"in a window":                {"Is there a unicorn in the first 3 seconds?", yes, answer.Yes, .69, [][2]float64{{1.5, 3}}},
		"no":                         {"Is there a unicorn?", no, answer.No, .6, nil},
		"unsure":                     {"Is there a unicorn?", with(yes, func(o *answer.Opinion) { o.Answer = answer.Indeterminate }), answer.Indeterminate, 0, nil},
		"a guess":                    {"Is there a unicorn?", with(yes, func(o *answer.Opinion) { o.Confidence = .5 }), answer.Indeterminate, 0, nil},
		"yes, but without a frame":   {"Is there a unicorn?", with(yes, func(o *answer.Opinion) { o.ShownAtS = nil }), answer.Indeterminate, 0, nil},
		"no, but with a frame":       {"Is there a unicorn?", with(no, func(o *answer.Opinion) { o.ShownAtS = []float64{1} }), answer.Indeterminate, 0, nil},
		"no, from too few frames":    {"Is there a unicorn?", sparse(no), answer.Indeterminate, 0, nil},
		"yes, from few frames":       {"Is there a unicorn?", sparse(yes), answer.Yes, .69, [][2]float64{{0, 8}}},
		"absent":                     {"Is there no unicorn?", with(yes, func(o *answer.Opinion) { o.ShownAtS = nil }), answer.Yes, .69, nil},
		"absent, but with a frame":   {"Is there no unicorn?", yes, answer.Indeterminate, 0, nil},
		"not absent":                 {"Is there no unicorn?", with(no, func(o *answer.Opinion) { o.ShownAtS = []float64{1} }), answer.No, .6, nil},
		"how many":                   {"How many unicorns are there?", count(yes, 3), answer.Yes, .69, nil},
		"how many, without a number": {"How many unicorns are there?", yes, answer.Indeterminate, 0, nil},
		"none":                       {"How many unicorns are there?", count(no, 0), answer.No, .6, nil},
		"none, and yes":              {"How many unicorns are there?", count(yes, 0), answer.Indeterminate, 0, nil},
		"how many, from few frames":  {"How many unicorns are there?", sparse(count(yes, 3)), answer.Indeterminate, 0, nil},
		"at least":                   {"Are there at least 2 unicorns?", sparse(count(yes, 3)), answer.Yes, .69, nil},
		"at least, and too few":      {"Are there at least 2 unicorns?", count(yes, 1), answer.Indeterminate, 0, nil},
		"at least, no":               {"Are there at least 2 unicorns?", count(no, 1), answer.No, .6, nil},
		"at most":                    {"Are there at most 2 unicorns?", count(yes, 1), answer.Yes, .69, nil},
		"at most, from few frames":   {"Are there at most 2 unicorns?", sparse(count(yes, 1)), answer.Indeterminate, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q, first := unsure(tt.prompt)
			require.True(t, answer.Doubtful(q, first), q)
			got := answer.WithOpinion(q, first, tt.opinion, 8)
			require.Equal(t, tt.want, got.Answer, got)
			require.InDelta(t, tt.confidence, got.Confidence, 0)
			var clips [][2]float64
			for _, c := range got.Clips {
				clips = append(clips, [2]float64{c.StartS, c.EndS})
				require.InDelta(t, tt.confidence, c.Confidence, 0)
			}
			require.Empty(t, cmp.Diff(tt.clips, clips))
			if got.Answer == answer.Indeterminate {
				require.NotNil(t, got.IndeterminateReason)
			} else {
				require.Nil(t, got.IndeterminateReason)
				require.Nil(t, got.UnsupportedAction)
			}
		})
	}
}

// TestOpinionAfterARefusal: after a refusal and an unsure opinion, the answer is a low
// confidence, because the video was examined.
func TestOpinionAfterARefusal(t *testing.T) {
	t.Parallel()
	q, first := unsure("Is a person juggling?")
	require.NotNil(t, first.UnsupportedAction)
	first.Receipt = answer.NewReceipt("sight-1", q)
	got := answer.WithOpinion(q, first, answer.Opinion{Answer: answer.Indeterminate}, 8)
	require.Nil(t, got.UnsupportedAction)
	require.Equal(t, query.LowConfidence, *got.IndeterminateReason)
	require.Equal(t, first.Receipt, got.Receipt)
	require.InDelta(t, 8, *got.VideoDurationS, 0)

	q, first = unsure("Is there a unicorn?")
	require.Equal(t, first, answer.WithOpinion(q, first, answer.Opinion{Answer: answer.Indeterminate}, 8), "the result of the detector stays")
}

func TestNotDoubtful(t *testing.T) {
	t.Parallel()
	q, r := unsure("What is love?")
	require.False(t, answer.Doubtful(q, r), "an open-ended question has no closed form")
	sure := answer.Opinion{Answer: answer.No, Confidence: 1, StepS: .5}
	require.Equal(t, r, answer.WithOpinion(q, r, sure, 8))

	q = english.Compile("Is there a dog?")
	r = decide("Is there a dog?", []float64{.9}, []float64{.9})
	require.Equal(t, answer.Yes, r.Answer)
	require.Equal(t, r, answer.WithOpinion(q, r, sure, 8), "a sure result needs no opinion")
}

// TestOpinionsKeepTheRules checks on random opinions that the result obeys the contract.
func TestOpinionsKeepTheRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		q, first := unsure(rapid.SampledFrom(append([]string{"Is a person juggling?", "Is the door open?", "Is there a dog behind a cat?"}, prompts...)).Draw(r, "prompt"))
		number := rapid.Float64Range(-1, 20)
		o := answer.Opinion{
			Answer:     rapid.SampledFrom([]answer.Answer{answer.Yes, answer.No, answer.Indeterminate, "maybe"}).Draw(r, "answer"),
			Confidence: rapid.Float64Range(-1, 2).Draw(r, "confidence"), StepS: number.Draw(r, "step"),
		}
		at := 0.0
		for range rapid.IntRange(0, 8).Draw(r, "shown") {
			at += rapid.Float64Range(0, 3).Draw(r, "after")
			o.ShownAtS = append(o.ShownAtS, at)
		}
		if rapid.Bool().Draw(r, "counted") {
			o.Count = new(rapid.IntRange(-1, 5).Draw(r, "count"))
		}
		duration := rapid.SampledFrom([]float64{0, .3, 8, 100}).Draw(r, "duration")
		got := answer.WithOpinion(q, first, o, duration)
		require.NotNil(r, got.Clips)
		require.NotNil(r, got.TermConfidences)
		require.GreaterOrEqual(r, got.Confidence, 0.0)
		if answer.Doubtful(q, first) {
			require.LessOrEqual(r, got.Confidence, .69)
		}
		require.Equal(r, got.Answer == answer.Indeterminate, got.IndeterminateReason != nil)
		if got.Answer == answer.Indeterminate {
			require.Zero(r, got.Confidence)
			require.Empty(r, got.Clips)
		}
		end := 0.0
		for _, c := range got.Clips {
			require.GreaterOrEqual(r, c.StartS, end)
			require.Greater(r, c.EndS, c.StartS)
			end = c.EndS
		}
		if duration > 0 {
			require.LessOrEqual(r, end, duration)
		}
	})
}
