package answer_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/answer"
	"vqa/domain/query"
	"vqa/domain/query/vocabulary"
)

// TestTheBestScoreBoundsANo checks the measured bands in every question form that can say
// that a dog is not there.
func TestTheBestScoreBoundsANo(t *testing.T) {
	t.Parallel()
	absent := map[string]answer.Answer{
		"Is there a dog?": answer.No, "Is there no dog?": answer.Yes, "Is the dog absent from the video?": answer.Yes,
		"How many dogs are there?": answer.No, "Are there at least 1 dogs?": answer.No, "Are there fewer than 1 dogs?": answer.Yes,
		"Is there a dog and a horse?": answer.No, "Is there a dog or a horse?": answer.No, "When does the dog appear?": answer.No,
		"Is there a red dog?": answer.No, "Is there a dog on the left?": answer.No, "Is a dog running?": answer.No,
	}
	for prompt, said := range absent {
		for _, band := range []struct{ score, most float64 }{{.02, .99}, {.07, .99}, {.08, .93}, {.12, .93}, {.17, .93}} {
			r := decide(prompt, frame{}, frame{band.score}, frame{})
			if prompt == "Is there a dog and a horse?" && band.most < .99 {
				continue // the horse is surely absent, which is enough
			}
			require.Equal(t, said, r.Answer, "%s: %v", prompt, band.score)
			require.LessOrEqual(t, r.Confidence, band.most, "%s: %v", prompt, band.score)
			require.Positive(t, r.Confidence)
		}
		for _, score := range []float64{.18, .20, .249, .30, .34} {
			r := decide(prompt, frame{}, frame{score}, frame{})
			if prompt == "Is there a dog and a horse?" {
				require.Equal(t, answer.No, r.Answer, "the horse is not there")
				continue
			}
			require.Equal(t, answer.Indeterminate, r.Answer, "%s: %v", prompt, score)
			require.Equal(t, query.LowConfidence, reason(r), "%s: %v", prompt, score)
		}
	}
}

// TestALookAlikeLeavesANoUndecided checks that a best score between .18 and .25 leaves a no
// undecided, even where another class holds the place.
func TestALookAlikeLeavesANoUndecided(t *testing.T) {
	t.Parallel()
	beside := func(score float64) answer.Result {
		box := at(.5, .5)
		return scene("Is there a cat?", nil, []thing{{term: "cat", score: score, box: box}, {term: "dog", score: .8, box: box}}, nil)
	}
	require.Equal(t, answer.No, beside(.17).Answer)
	require.Equal(t, answer.Indeterminate, beside(.18).Answer)
	require.Equal(t, answer.Indeterminate, beside(.24).Answer)
	require.Equal(t, answer.No, beside(.26).Answer)
}

// TestBandsAreThoseOfTheMeasuredModel checks that the bands do not apply to other models:
// their scores mean something else.
func TestBandsAreThoseOfTheMeasuredModel(t *testing.T) {
	t.Parallel()
	q, ev := seen("Is there a dog?", frame{}, frame{.2}, frame{})
	require.Equal(t, answer.Indeterminate, answer.Decide(q, ev, answer.Calibrations{}.For(answer.CPUWeights, vocabulary.COCO().Names())).Answer)
	other := answer.Decide(q, ev, answer.Calibrations{}.For("other", vocabulary.COCO().Names()))
	require.Equal(t, answer.No, other.Answer)
	require.LessOrEqual(t, other.Confidence, .69)
	measuredAll, err := answer.ParseCalibrations([]byte(measured))
	require.NoError(t, err)
	for weights := range measuredAll {
		require.Empty(t, measuredAll.For(weights, vocabulary.COCO().Names()).Absence)
	}
}

// TestSpreadHalvesAWeakPerson: a place that several other classes share is rarely a person.
func TestSpreadHalvesAWeakPerson(t *testing.T) {
	t.Parallel()
	box := at(.5, .5)
	ask := func(prompt, term string, score float64, others ...float64) answer.Result {
		var frames [][]thing
		for range 6 {
			things := []thing{{term: term, score: score, box: box}}
			for i, other := range others {
				things = append(things, thing{term: []string{"dog", "chair", "handbag"}[i], score: other, box: box})
			}
			frames = append(frames, things)
		}
		return scene(prompt, frames...)
	}
	alone := ask("Is there a person?", "person", .34)
	require.Equal(t, answer.Yes, alone.Answer)
	require.Equal(t, alone.Confidence, ask("Is there a person?", "person", .34, .16, .16).Confidence, "spread .94")
	require.NotEqual(t, answer.Yes, ask("Is there a person?", "person", .34, .18, .17).Answer, "spread 1.03")
	require.Equal(t, answer.Yes, ask("Is there a person?", "person", .5, .3, .3).Answer, "a firm one")
	require.Equal(t, answer.Yes, ask("Is there a bear?", "bear", .34, .18, .17).Answer, "people alone")
	require.Zero(t, *ask("How many people are there?", "person", .34, .18, .17).DetectedCount)

	apart := [][]thing{}
	for range 6 {
		apart = append(apart, []thing{{term: "person", score: .34, box: box}, {term: "dog", score: .4, box: at(.1, .1)}})
	}
	require.Equal(t, answer.Yes, scene("Is there a person?", apart...).Answer, "other classes elsewhere do not count")
}

// narrowed are questions with two conditions, each with its variants that have fewer.
var narrowed = [][]string{
	{"Is there a dog?", "Is there a red dog?", "Is there a dog on the left?", "Is there a red dog on the left?"},
	{"Is there no dog?", "Is there no red dog?", "Is there no dog on the left?", "Is there no red dog on the left?"},
	{"How many dogs are there?", "How many red dogs are there?", "How many dogs are on the left?", "How many red dogs are on the left?"},
	{"Are there at least 3 dogs?", "Are there at least 3 red dogs?", "Are there at least 3 dogs on the left?", "Are there at least 3 red dogs on the left?"},
	{"Are there fewer than 2 dogs?", "Are there fewer than 2 red dogs?", "Are there fewer than 2 dogs on the left?", "Are there fewer than 2 red dogs on the left?"},
	{"Is there a person?", "Is there a person in a red shirt?", "Is a person sitting?", "Is a person in a red shirt sitting?"},
	{"Is there a dog and a cat?", "Is there a red dog and a cat?", "Is there a dog on the left and a cat?", "Is there a red dog on the left and a cat?"},
	{"Is there a dog or a cat?", "Is there a red dog or a cat?", "Is there a dog or a red cat?", "Is there a red dog or a red cat?"},
	{"Is there a dog in the first 2 seconds?", "Is there a red dog in the first 2 seconds?", "Is there a dog on the left in the first 2 seconds?", "Is there a red dog on the left in the first 2 seconds?"},
}

// TestConditionsNeverAddConfidence checks on random evidence that a question with more
// conditions is never surer than one with fewer. An undecided question does not count.
func TestConditionsNeverAddConfidence(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		family := rapid.SampledFrom(narrowed).Draw(t, "questions")
		queries := make([]query.Query, len(family))
		for i, prompt := range family {
			queries[i] = query.Compile(prompt)
			require.True(t, query.Assessable(queries[i]), prompt)
		}
		ev := evidences(t, queries[0])
		results := make([]answer.Result, len(family))
		for i, q := range queries {
			results[i] = answer.Decide(q, ev, answer.CPU())
		}
		for _, pair := range [][2]int{{0, 1}, {0, 2}, {0, 3}, {1, 3}, {2, 3}} {
			fewer, more := results[pair[0]], results[pair[1]]
			if fewer.Answer != answer.Indeterminate {
				require.LessOrEqual(t, more.Confidence, fewer.Confidence, "%q against %q", family[pair[1]], family[pair[0]])
			}
		}
	})
}

// TestDoubtfulPresenceLeavesConditionsUndecided: there is no verdict about the conditions
// of a person who may not be there at all.
func TestDoubtfulPresenceLeavesConditionsUndecided(t *testing.T) {
	t.Parallel()
	for _, prompt := range []string{"Is there a dog?", "Is there a dog on the right?", "How many dogs are on the right?", "Are there at least 2 dogs on the right?"} {
		r := decide(prompt, frame{}, frame{.4}, frame{})
		require.Equal(t, answer.Indeterminate, r.Answer, prompt)
		require.Equal(t, query.LowConfidence, reason(r), prompt)
	}
}

// TestManyConditionsAreBounded: a query may have 32 conditions, and not each of their
// subsets is decided.
func TestManyConditionsAreBounded(t *testing.T) {
	t.Parallel()
	q, ev := seen("Is there a red dog on the left?", frame{.9}, frame{.9})
	for len(q.Conditions) < 32 {
		q.Conditions = append(q.Conditions, q.Conditions[0])
	}
	require.True(t, query.Assessable(q))
	plain := decide("Is there a dog?", frame{.9}, frame{.9})
	require.LessOrEqual(t, answer.Decide(q, ev, answer.CPU()).Confidence, plain.Confidence)
}
