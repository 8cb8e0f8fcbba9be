package english_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/query"
	"vqa/domain/query/english"
	"vqa/domain/query/vocabulary"
)

// TestTwoQuestionsAreSuggested checks that a prompt with two questions or two meanings is not answered, and that each
// of them is suggested.
func TestTwoQuestionsAreSuggested(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string][]string{
		"Is there a dog? Is there a cat?":                   {"Is there a dog?", "Is there a cat?"},
		"How many cups and how many plates are on the bed?": {"Is there a cup?"},
	} {
		q := english.Compile(prompt)
		require.Equal(t, query.OpenEnded, q.PromptIntent, prompt)
		require.True(t, english.Several(prompt), prompt)
		require.Subset(t, english.Suggestions(q, vocabulary.Vocabulary{}, func(q query.Query) bool { return q.PromptIntent != query.OpenEnded }), want, prompt)
	}
	for _, prompt := range []string{"Is there a man next to a woman in red?", "Is a man next to a woman in red?", "Is the box on the left or on the right?"} {
		require.Equal(t, query.OpenEnded, english.Compile(prompt).PromptIntent, prompt)
	}
}
