package answer_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/answer/predicate"
	"vqa/domain/query"
	"vqa/domain/query/english"
)

// example matches a question that a refusal suggests.
var example = regexp.MustCompile(`"((?:Is|Are|How|When)[^"]*\?)"`)

// TestRefusalsSayWhyAndWhatInstead checks that each refusal names the unsupported part and
// suggests a question that is answered.
func TestRefusalsSayWhyAndWhatInstead(t *testing.T) {
	t.Parallel()
	for prompt, why := range map[string]string{
		"Why is he sad?":                    "Subjective questions",
		"Ist da ein Hund?":                  "in English",
		"What happens in this video?":       "not understood",
		"Is there a fluffy cup?":            `property "fluffy"`,
		"Is the person dancing?":            `action "dancing"`,
		"Is the dog sitting?":               `action "sitting"`,
		"Is the door open?":                 "state",
		"Is someone talking?":               "",
		"Is there a dog in the background?": "",
	} {
		q := english.Compile(prompt)
		if answer.Assessable(q) {
			t.Errorf("%q is answered, so it cannot test a refusal", prompt)
			continue
		}
		reason := answer.Refused(q).UnsupportedAction.Reason
		require.Contains(t, reason, why, prompt)
		examples := example.FindAllStringSubmatch(reason, -1)
		require.NotEmpty(t, examples, "%q: %s", prompt, reason)
		for _, e := range examples {
			require.True(t, answer.Assessable(english.Compile(e[1])), "%q suggests %q, which is refused too", prompt, e[1])
		}
	}
}

// TestRefusedActionsAreNotAmongThoseThatAreAssessed checks that the refusal of an action lists
// exactly the actions that are assessed.
func TestRefusedActionsAreNotAmongThoseThatAreAssessed(t *testing.T) {
	t.Parallel()
	reason := answer.Refused(english.Compile("Is the person dancing?")).UnsupportedAction.Reason
	for _, said := range []string{
		"of people, holding something, sitting, standing, lying, raising hand, crossing arms, walking, falling; ",
		"of people and animals on four legs, running, jumping; ", "of anything, riding something, moving, entering, leaving.",
	} {
		require.Contains(t, reason, said)
	}
	for _, row := range predicate.Rows {
		require.True(t, answer.Assessable(english.Compile(row.Example)), row.Example)
	}
	for _, prompt := range []string{"Is the dog sitting?", "Is the dog walking?", "Is the horse falling?", "Is the car jumping?"} {
		require.Equal(t, query.UnsupportedActionTerm, answer.Unsupported(english.Compile(prompt)), prompt)
		require.False(t, answer.Assessable(english.Compile(prompt)), prompt)
	}
}
