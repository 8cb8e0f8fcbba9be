package answer

import (
	"fmt"

	"vqa/domain/query"
)

// refusal says why a question is not answered, what is, and one question to ask instead.
// The page behind UnsupportedAction.DocsURL says more. What it says is assessed must be
// what [query.Assessable] says; a test compares them.
func refusal(q query.Query, reason query.Reason) string {
	if q.PromptIntent == query.OpenEnded {
		return openEnded(q)
	}
	for _, c := range q.Conditions {
		alone := q
		alone.Conditions = []query.Condition{c}
		if query.Assessable(alone) || reason == query.UnsupportedActionTerm && c.Kind != query.KindAction {
			continue
		}
		return unassessed(c)
	}
	return fmt.Sprintf("Questions of the form %q are not answered. Ask what is visible, how many there are, when, or in which "+
		`part of the picture, for example "Is there a dog?".`, q.PromptIntent)
}

// unassessed explains a condition that no answer can tell.
func unassessed(c query.Condition) string {
	switch c.Kind {
	case query.KindAction:
		return fmt.Sprintf("The action %q is not assessed here. Assessed are, of people: sitting, standing, lying, raising a hand, "+
			"crossing the arms, walking, running, jumping, falling and riding something; of animals on four legs: running and jumping; "+
			`of anything: moving, entering and leaving. Ask for example "Is a person walking?".`, c.Value)
	case query.KindAttribute:
		return fmt.Sprintf("The property %q is not assessed. Colors, sizes and the colors of clothes are: "+
			`ask for example "Is there a red car?".`, c.Value)
	case query.KindLocation:
		return fmt.Sprintf("The place %q is not assessed. Thirds of the picture and things nearby are: "+
			`ask for example "Is there a person on the left?".`, c.Value)
	case query.KindTime:
		return fmt.Sprintf("The time %q is not understood. Ask for example "+
			`"Is there a truck in the first ten seconds?".`, c.Value)
	default:
		return fmt.Sprintf("The state %q is not assessed. Ask what is visible instead, for example "+
			`"Is there a car?".`, c.Value)
	}
}

// obstructed says why a part of a question cannot be assessed.
var obstructed = map[query.Obstacle]string{
	query.Audio:           "Sound is not assessed: only the picture is looked at.",
	query.Identity:        "Who somebody is is not assessed.",
	query.Text:            "Text in the picture is not read.",
	query.Subjective:      "Matters of taste are not assessed.",
	query.ExhaustiveCount: "Different individuals over the whole video are not counted, only how many are visible at the same time.",
}

// openEnded explains a question that was not understood as one of the forms.
func openEnded(q query.Query) string {
	why := "This was not understood as a question with a yes, a no or a number for an answer."
	if len(q.UnassessableComponents) > 0 {
		why = obstructed[q.UnassessableComponents[0].Kind]
	}
	return why + " Ask in English about what is visible, for example \"Is there a dog?\" or \"How many cars are there?\"."
}
