package predicate

import (
	"vqa/domain/evidence"
	"vqa/domain/query"
)

var (
	leftOf = Row{
		Kind: query.KindLocation, Form: "left of OBJECT", Who: Anything, Object: true,
		Example: "Is there a dog left of the person?",
		Bind:    about(func(_ Frame, a, b evidence.Box) float64 { return ahead(a, b) }, "left of"),
	}
	rightOf = Row{
		Kind: query.KindLocation, Form: "right of OBJECT", Who: Anything, Object: true,
		Example: "Is there a dog to the right of the person?",
		Bind:    about(func(_ Frame, a, b evidence.Box) float64 { return ahead(b, a) }, "right of"),
	}
)

// ahead returns how probably a is to the left of b, from the distance between their centers.
func ahead(a, b evidence.Box) float64 {
	return curve{{-.03, .02}, {0, .30}, {.05, .85}, {.10, .96}}.at((b.X1 + b.X2 - a.X1 - a.X2) / 2)
}
