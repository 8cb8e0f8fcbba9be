package answer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/query/english"
	"vqa/domain/query/vocabulary"
)

func TestSuggestions(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string][]string{
		"How many fluffy dogs are there?":       {"How many dogs are there?", "Is there a dog?", "When is a dog visible?"},
		"Is the person dancing?":                {"Is there a person?", "When is a person visible?"},
		"Is there a unicorn?":                   {"Is there a person?"},
		"Is there an unicorn or an apple tree?": {"Is there a person?"},
		"What happens in this video?":           {"Is there a person?"},
		"":                                      {"Is there a person?"},
	} {
		require.Equal(t, want, answer.Suggestions(english.Compile(prompt), vocabulary.COCO()), prompt)
	}
	engine := vocabulary.Of([]string{"excavator", "crane"})
	require.Equal(t, []string{"Is there an excavator?"}, answer.Suggestions(english.Compile("Is there a dog?"), engine), "what this engine knows")
	for _, prompt := range []string{"Why is he sad?", "Ist da ein Hund?", "Is the door open?", "Is there a dog behind a red car?", "Is someone talking?"} {
		all := answer.Suggestions(english.Compile(prompt), vocabulary.COCO())
		require.NotEmpty(t, all, prompt)
		require.LessOrEqual(t, len(all), 3)
		for _, question := range all {
			require.True(t, answer.Assessable(english.Compile(question)), "%q suggests %q", prompt, question)
		}
	}
}

// TestRefusalNamesTheWord checks that the refusal of a question that was not understood names the words.
func TestRefusalNamesTheWord(t *testing.T) {
	t.Parallel()
	for prompt, word := range map[string]string{
		"How many dogs are there per minute?": `"per minute" was not understood`,
		"Is there a dog thrice?":              `"thrice" was not understood`,
	} {
		require.Contains(t, answer.Refused(english.Compile(prompt)).UnsupportedAction.Reason, word, prompt)
	}
}
