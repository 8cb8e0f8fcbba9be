package answer_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
)

// evidenceOf are the edges of the count evidence of a result.
func evidenceOf(r answer.Result) [][2]float64 {
	var list [][2]float64
	for _, c := range r.CountEvidence {
		list = append(list, [2]float64{c.StartS, c.EndS})
	}
	return list
}

// TestCountEvidence checks when the number is visible: two dogs from 1.0 to 2.0 s and from
// 4.0 s on, one of them all the time.
func TestCountEvidence(t *testing.T) {
	t.Parallel()
	one, two := frame{.8}, frame{.8, .7}
	frames := []frame{one, one, two, two, two, one, one, one, two, two}
	for prompt, want := range map[string][][2]float64{
		"How many dogs are there?":                     {{.75, 2.25}, {3.75, 5}},
		"Are there at least 1 dogs?":                   {{.75, 2.25}, {3.75, 5}},
		"Are there at least 5 dogs?":                   {{.75, 2.25}, {3.75, 5}},
		"How many dogs are there in the first second?": {{0, 1}},
		"Is there a dog?":                              nil,
		"How many cats and dogs?":                      nil,
		"How many dogs are on the right?":              nil,
	} {
		r := decide(prompt, frames...)
		require.Equal(t, want, evidenceOf(r), prompt)
		if want != nil {
			require.Empty(t, r.Clips, "rule 6: %s", prompt)
			require.Equal(t, r.CountEvidence, r.Shown())
		}
	}
	r := decide("How many dogs are there?", frames...)
	require.Greater(t, r.CountEvidence[0].Confidence, .5)
	require.Less(t, r.CountEvidence[0].Confidence, .97, "it is that of the second dog")
	require.Nil(t, decide("How many dogs are there?", frame{}, frame{}).CountEvidence)
	require.Equal(t, [][2]float64{{0, .5}}, evidenceOf(decide("How many dogs are there?", frame{.8, .7})), "one frame in all")
}

// TestCountEvidenceOfLastingObjects counts objects of the same size, one of them with a weak
// score.
func TestCountEvidenceOfLastingObjects(t *testing.T) {
	t.Parallel()
	var frames [][]thing
	for _, score := range []float64{0, 0, .24, .15, .22, .27, .14, .14, 0, 0} {
		frames = append(frames, []thing{
			{term: "cup", score: .5, box: evidence.Box{X1: .1, Y1: .4, X2: .3, Y2: .6}},
			{term: "cup", score: score, box: evidence.Box{X1: .6, Y1: .4, X2: .8, Y2: .6}},
		})
	}
	r := scene("How many cups are there?", frames...)
	require.Equal(t, 2, *r.DetectedCount)
	require.Equal(t, [][2]float64{{.75, 3.75}}, evidenceOf(r))
}

// TestFineFramesRefineCountEvidence: the second dog comes at about .625 s.
func TestFineFramesRefineCountEvidence(t *testing.T) {
	t.Parallel()
	one, two := frame{.8}, frame{.8, .7}
	q, ev := seen("How many dogs are there?", one, one, two, two, two, two)
	ev = finely(ev, 0, fineFrame{.625, one}, fineFrame{.75, two}, fineFrame{.875, two})
	require.Equal(t, [][2]float64{{.688, 3}}, evidenceOf(answer.Decide(q, ev, answer.CPU())))
}

// TestEveryCountHasItsEvidence checks random evidence.
func TestEveryCountHasItsEvidence(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := query.Compile(rapid.SampledFrom(prompts).Draw(t, "prompt"))
		r := answer.Decide(q, evidences(t, q), answer.CPU())
		counting := slices.Contains([]query.Intent{query.Count, query.CountThreshold}, q.PromptIntent)
		seen := counting && r.Answer != answer.Indeterminate && *r.DetectedCount > 0
		require.Equal(t, seen, len(r.CountEvidence) > 0)
		r.Clips = r.CountEvidence
		checkClips(t, r)
	})
}
