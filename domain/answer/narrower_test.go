package answer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
)

// TestNarrowerWords: a word for some instances of a class is answered as the class, and never surer than
// marginal.
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
		{"Is there a woman?", someone, answer.Yes},
		{"Is there no woman?", nobody, answer.Yes},
		{"Is there no woman?", someone, answer.No},
		{"How many women are there?", nobody, answer.No},
		{"How many women are there?", someone, answer.Yes},
		{"Are there at least 2 women?", both, answer.No},
		{"When does the woman appear?", someone, answer.Yes},
		{"Is there a woman on the left?", apart, answer.Yes},
		{"Is there a puppy?", both, answer.Yes},
		{"Is there a woman and a dog?", both, answer.Yes},
		{"Is there a dog next to a woman?", both, answer.Yes},
		{"Is there a dog next to a woman?", apart, answer.No},
	}
	for _, c := range cases {
		r := scene(c.prompt, c.frames...)
		require.Equal(t, c.want, r.Answer, c.prompt)
		if r.Answer == answer.Yes && c.prompt != "Is there no woman?" {
			require.LessOrEqual(t, r.Confidence, .69, "%s: marginal, because whether it is one cannot be told", c.prompt)
		}
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
	require.Equal(t, answer.No, scene("Is the woman on the left?", still(6, right)...).Answer)
	require.Equal(t, answer.No, scene("Is the woman on the left?", still(6)...).Answer)
}
