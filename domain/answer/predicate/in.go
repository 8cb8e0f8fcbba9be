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

// inside returns how probably a is in b, from the share of a's box that b's larger box holds. A picture
// cannot tell that from being in front of it.
func inside(_ Frame, a, b evidence.Box) float64 {
	if evidence.Area(a) > .9*evidence.Area(b) {
		return .05
	}
	return curve{{.4, .03}, {.6, .25}, {.8, .65}, {.95, .75}}.at(evidence.ShareInside(a, b))
}
