package predicate

import (
	"vqa/domain/evidence"
	"vqa/domain/query"
)

var under = Row{
	Kind: query.KindLocation, Form: "under OBJECT", Who: Anything, Object: true,
	Example: "Is there a cat under the table?",
	Phrases: []string{"below OBJECT"},
	Bind:    about(beneath, "under", "below"),
}

// beneath is the probability that a is under b: it is in the lower part of b's box, or close below it.
func beneath(_ Frame, a, b evidence.Box) float64 {
	if !(overlapX(a, b) > .5) {
		return .03
	}
	// The center of a below the top of b, in heights of b. At the lower end it may be in front of it.
	return curve{{.4, .03}, {.6, .60}, {.9, .75}, {1.3, .60}, {1.8, .10}}.at(((a.Y1+a.Y2)/2 - b.Y1) / (b.Y2 - b.Y1))
}
