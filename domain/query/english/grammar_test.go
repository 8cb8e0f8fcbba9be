package english

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGrammarRefusesRulesThatIgnoreWords checks that a rule must use the meaning of each of its elements.
func TestGrammarRefusesRulesThatIgnoreWords(t *testing.T) {
	t.Parallel()
	for text, message := range map[string]string{
		"S\n  x:N C\n":                              "nothing uses C",
		"S\n  x:N y:C\n":                            "needs an action",
		"S\n  x:Missing\n":                          "Missing is not defined",
		"S\n  x:N? y:C? = both\n":                   "may be empty",
		"S\n  x:S\n":                                "may consist of itself",
		"S\n  x:N = nosuchaction\n":                 "unknown action",
		"S\n  x:N please\n":                         "",
		"S\n  x:N Please\nPlease quiet\n  please\n": "",
	} {
		_, err := newGrammar(text)
		if message == "" {
			require.NoError(t, err, text)
		} else {
			require.ErrorContains(t, err, message, text)
		}
	}
}

// TestEachActionIsInTheGrammar finds actions that no rule uses.
func TestEachActionIsInTheGrammar(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, r := range english.rules {
		used[r.action] = true
	}
	for name := range actions {
		require.True(t, used[name], "no rule uses the action %q", name)
	}
}

// TestActionsThatIgnoreAPartHaveNoMeaning checks that a label that an action does not read makes no meaning.
func TestActionsThatIgnoreAPartHaveNoMeaning(t *testing.T) {
	t.Parallel()
	g, err := newGrammar("S\n  x:N extra:C = compound\n")
	require.NoError(t, err)
	words := []token{{w: "dog"}, {w: "red"}}
	require.Empty(t, g.parse(words, func(end int) []leaf {
		return []leaf{{sym: g.ids[[]string{"N", "C"}[end-1]], from: end - 1, value: words[end-1].w}}
	}, g.ids["S"]))
}
