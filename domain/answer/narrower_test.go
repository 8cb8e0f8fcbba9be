package answer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/query"
)

// TestNarrowerWords: a person in the video may be a woman or not. Without a person there is
// no woman.
func TestNarrowerWords(t *testing.T) {
	t.Parallel()
	nobody := still(6)
	someone := still(6, thing{term: "person", score: .9, box: at(.5, .5)})
	both := still(6, thing{term: "person", score: .9, box: at(.45, .5)}, thing{term: "dog", score: .9, box: at(.55, .5)})
	apart := still(6, thing{term: "person", score: .9, box: at(.1, .1)}, thing{term: "dog", score: .9, box: at(.9, .9)})
	cases := []struct {
		prompt string
		frames [][]thing
		want   answer.Answer
	}{
		{"Is there a woman?", nobody, answer.No},
		{"Is there a woman?", someone, answer.Indeterminate},
		{"Is there a person?", someone, answer.Yes},
		{"Is there no woman?", nobody, answer.Yes},
		{"Is there no woman?", someone, answer.Indeterminate},
		{"How many women are there?", nobody, answer.No},
		{"How many women are there?", someone, answer.Indeterminate},
		{"Are there at least 1 women?", someone, answer.Indeterminate},
		{"Are there at least 2 women?", both, answer.No},
		{"Are there exactly 2 women?", someone, answer.No},
		{"Are there fewer than 2 women?", someone, answer.Yes},
		{"When does the woman appear?", someone, answer.Indeterminate},
		{"Is there a woman on the left?", someone, answer.No},
		{"Is there a woman on the left?", apart, answer.Indeterminate},
		{"Is there a puppy?", both, answer.Indeterminate},
		{"Is there a doggy?", both, answer.Yes},
		{"Is there a woman and a dog?", both, answer.Indeterminate},
		{"Is there a woman and a cat?", both, answer.No},
		{"Is there a woman or a dog?", both, answer.Yes},
		{"Is there a dog but no woman?", both, answer.Indeterminate},
		{"Is there a dog next to a person?", both, answer.Yes},
		{"Is there a dog next to a woman?", both, answer.Indeterminate},
		{"Is there a dog next to a woman?", apart, answer.No},
		{"Is there a dog that is not next to a woman?", both, answer.Indeterminate},
		{"Is there a dog that is not next to a woman?", apart, answer.Yes},
	}
	for _, c := range cases {
		r := scene(c.prompt, c.frames...)
		require.Equal(t, c.want, r.Answer, c.prompt)
		if c.want == answer.Indeterminate {
			require.Equal(t, query.LowConfidence, reason(r), c.prompt)
		}
		require.Less(t, r.TermConfidences["woman"], .5, "%s: nothing told", c.prompt)
	}
}

// TestPresupposed: a question about the woman's looks presupposes that there is one.
func TestPresupposed(t *testing.T) {
	t.Parallel()
	left := thing{term: "person", score: .9, box: at(.1, .5)}
	right := thing{term: "person", score: .9, box: at(.9, .5)}
	alone, two := scene("Is the woman on the left?", still(6, left)...), scene("Is the woman on the left?", still(6, left, right)...)
	require.Equal(t, answer.Yes, alone.Answer)
	require.Equal(t, answer.Yes, two.Answer)
	require.Less(t, two.Confidence, alone.Confidence, "it may be the other one")
	require.Equal(t, answer.No, scene("Is the woman on the left?", still(6, right)...).Answer)
	require.Equal(t, answer.No, scene("Is the woman on the left?", still(6)...).Answer)
	require.Equal(t, answer.Indeterminate, scene("Is the woman there?", still(6, left)...).Answer, "the question asks whether she is there")
	require.Equal(t, answer.Indeterminate, scene("Is a woman on the left?", still(6, left)...).Answer)
}
