package answer

import (
	"cmp"
	"fmt"
	"strings"

	"vqa/domain/answer/predicate"
	"vqa/domain/query"
	"vqa/domain/query/english"
)

// refusal explains why a question is not answered, lists the assessed ones, and suggests a
// question to ask instead. It must agree with [Assessable]; a test compares them. The
// page at UnsupportedAction.DocsURL has more.
func refusal(q query.Query, reason query.Reason) string {
	if q.PromptIntent == query.OpenEnded {
		return openEndedRefusal(q)
	}
	for _, c := range q.Conditions {
		alone := q
		alone.Conditions = []query.Condition{c}
		if Assessable(alone) || reason == query.UnsupportedActionTerm && c.Kind != query.KindAction {
			continue
		}
		return conditionRefusal(c)
	}
	return cmp.Or(notUnderstood(q), fmt.Sprintf("Questions of the form %q are not answered.", q.PromptIntent)) +
		` Ask about visible objects: whether they are there, how many, when, or in which part of the picture. For example: "Is there a dog?".`
}

// notUnderstood names the words without which a question would be understood. It is empty when there are none.
func notUnderstood(q query.Query) string {
	if q.OriginalPrompt == nil {
		return ""
	}
	if english.Several(*q.OriginalPrompt) {
		return "This asks two questions, or can be read in two ways."
	}
	if words, _, ok := english.NotUnderstood(*q.OriginalPrompt); ok {
		return fmt.Sprintf("%q was not understood.", words)
	}
	return ""
}

// conditionRefusal explains a condition that cannot be assessed.
func conditionRefusal(c query.Condition) string {
	switch c.Kind {
	case query.KindAction:
		return fmt.Sprintf(`The action %q is not assessed. These actions are: %s. Ask for example "Is a person walking?".`, c.Value, assessedActions)
	case query.KindAttribute:
		return fmt.Sprintf("The property %q is not assessed. Colors, sizes and the colors of clothes are. "+
			`Ask for example "Is there a red car?".`, c.Value)
	case query.KindLocation:
		return fmt.Sprintf("The place %q is not assessed. Parts of the picture and positions relative to other objects are. "+
			`Ask for example "Is there a person on the left?".`, c.Value)
	case query.KindTime:
		return fmt.Sprintf("The time %q is not understood. Ask for example "+
			`"Is there a truck in the first ten seconds?".`, c.Value)
	default:
		return fmt.Sprintf("The state %q is not assessed. Ask about visible objects instead, for example "+
			`"Is there a car?".`, c.Value)
	}
}

// assessedActions lists the actions of all predicates, by the things that they are about.
var assessedActions = func() string {
	var groups []string
	for _, who := range []predicate.Who{predicate.People, predicate.Walkers, predicate.Anything} {
		var forms []string
		for _, r := range predicate.Rows {
			if form, _, _ := strings.Cut(r.Form, " ["); r.Kind == query.KindAction && r.Who == who {
				forms = append(forms, strings.ReplaceAll(form, "OBJECT", "something"))
			}
		}
		groups = append(groups, fmt.Sprintf("of %s, %s", who, strings.Join(forms, ", ")))
	}
	return strings.Join(groups, "; ")
}()

// obstacleReasons are the reasons why a part of a question cannot be assessed.
var obstacleReasons = map[query.Obstacle]string{
	query.Audio:           "Sound is not assessed, only the picture.",
	query.Identity:        "The identity of people is not assessed.",
	query.Text:            "Text in the picture is not read.",
	query.Subjective:      "Subjective questions are not assessed.",
	query.ExhaustiveCount: "A count is the largest number visible at the same time. Different individuals over the whole video are not counted.",
}

// openEndedRefusal explains a question that matches none of the supported forms.
func openEndedRefusal(q query.Query) string {
	why := cmp.Or(notUnderstood(q), "This was not understood as a question with a yes, a no or a number for an answer.")
	if len(q.UnassessableComponents) > 0 {
		why = obstacleReasons[q.UnassessableComponents[0].Kind]
	}
	return why + " Ask in English about visible objects, for example \"Is there a dog?\" or \"How many cars are there?\"."
}
