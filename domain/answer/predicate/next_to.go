package predicate

import (
	"math"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

var nextTo = Row{
	Kind: query.KindLocation, Form: "next to OBJECT", Who: Anything, Object: true,
	Example: "Is there a dog next to a red bus?",
	Phrases: []string{"near OBJECT", "at OBJECT"},
	Bind:    about(beside, "next to", "near", "at"),
}

// beside is the probability that a is next to b: the gap between the boxes is small compared with their
// size.
func beside(f Frame, a, b evidence.Box) float64 {
	dx := max(0, a.X1-b.X2, b.X1-a.X2) * f.Aspect
	dy := max(0, a.Y1-b.Y2, b.Y1-a.Y2)
	size := math.Sqrt(max(evidence.Area(a), evidence.Area(b)) * f.Aspect)
	if !(size > 0) {
		return 0
	}
	return curve{{0, .95}, {.3, .90}, {.6, .50}, {1, .15}, {2, .02}}.at(math.Hypot(dx, dy) / size)
}
