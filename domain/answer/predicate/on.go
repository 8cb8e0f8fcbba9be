package predicate

import (
	"vqa/domain/evidence"
	"vqa/domain/query"
)

var on = Row{
	Kind: query.KindLocation, Form: "on OBJECT", Who: Anything, Object: true,
	Example: "Is there a cat on the couch?",
	Bind:    about(atop, "on"),
}

// contained: a box with a larger share inside another is in it or in front of it, not on it.
const contained = .8

// atop is the probability that a is on b: a stands above b, and its lower end is within b or touches its
// top.
func atop(_ Frame, a, b evidence.Box) float64 {
	if evidence.ShareInside(a, b) >= contained {
		// A cup on a table that is seen from above. It may as well be in front of it.
		return .7
	}
	if !(overlapX(a, b) > .5) || !(a.Y1+a.Y2 < b.Y1+b.Y2) {
		return .03
	}
	// The distance of a's lower end below b's top, in heights of b.
	return curve{{-.25, .03}, {-.05, .70}, {.10, .88}, {.95, .88}, {1.2, .30}, {1.5, .05}}.at((a.Y2 - b.Y1) / (b.Y2 - b.Y1))
}

// overlapX returns how much of the narrower box's width both boxes share.
func overlapX(a, b evidence.Box) float64 {
	return (min(a.X2, b.X2) - max(a.X1, b.X1)) / min(a.X2-a.X1, b.X2-b.X1)
}
