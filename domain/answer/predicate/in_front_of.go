package predicate

import (
	"vqa/domain/evidence"
	"vqa/domain/query"
)

var (
	inFrontOf = Row{
		Kind: query.KindLocation, Form: "in front of OBJECT", Who: Anything, Object: true,
		Example: "Is there a person in front of the car?",
		Bind:    about(func(_ Frame, a, b evidence.Box) float64 { return nearer(a, b) }, "in front of"),
	}
	behind = Row{
		Kind: query.KindLocation, Form: "behind OBJECT", Who: Anything, Object: true,
		Example: "Is there a person behind the car?",
		Bind:    about(func(_ Frame, a, b evidence.Box) float64 { return nearer(b, a) }, "behind"),
	}
)

// nearer returns how probably a is in front of b: a covers a part of b or stands close to it, and its
// lower end is lower in the picture. An object that the lower edge of the frame cuts off may stand
// anywhere.
func nearer(a, b evidence.Box) float64 {
	height := b.Y2 - b.Y1
	if !(overlapX(a, b) > .25) || !(a.Y1 < b.Y2+.2*height) || !(b.Y1 < a.Y2) {
		return .03
	}
	const edge = .985
	if a.Y2 > edge && b.Y2 > edge {
		return .4
	}
	switch {
	case atTheFoot(a, b):
		return .78
	case atTheFoot(b, a):
		return .12
	case evidence.ShareInside(b, a) >= contained:
		return .25 // wholly visible, so in it or in front of it
	}
	// The distance of a's lower end below that of b, in heights of b.
	return curve{{-.10, .04}, {0, .45}, {.04, .75}, {.12, .88}}.at((a.Y2 - b.Y2) / height)
}

// atTheFoot reports whether a is a small object at the lower end of b. There it would be hidden if it
// were behind b.
func atTheFoot(a, b evidence.Box) bool {
	const mostly, near = .6, .04
	return evidence.ShareInside(a, b) >= mostly && evidence.Area(a) < evidence.Area(b)/2 && a.Y2 > b.Y2-near*(b.Y2-b.Y1)
}
