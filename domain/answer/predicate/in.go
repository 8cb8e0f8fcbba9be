package predicate

import (
	"vqa/domain/evidence"
	"vqa/domain/query"
)

var in = Row{
	Kind: query.KindLocation, Form: "in OBJECT", Who: Anything, Object: true,
	Example: "Is there a person in a boat?",
	Phrases: []string{"inside OBJECT"},
	Bind:    about(inside, "in", "inside"),
}

// inside is the probability that a is in b, by the share of a's box in that of b, which must be larger.
// It may as well be in front of it.
func inside(_ Frame, a, b evidence.Box) float64 {
	if evidence.Area(a) > .9*evidence.Area(b) {
		return .05
	}
	return curve{{.4, .03}, {.6, .25}, {.8, .65}, {.95, .75}}.at(evidence.ShareInside(a, b))
}
