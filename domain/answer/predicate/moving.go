package predicate

import "vqa/domain/query"

var moving = Row{
	Kind: query.KindAction, Form: "moving", Who: Anything, Needs: Needs{Seconds: 2 * pace},
	Example: "Is the car moving?",
	Bind: exactly("moving", Test{Along: func(t Track, out []float32) {
		t.moves(out, func(_ int, heights float64) float64 { return moveCurve.at(heights) },
			func(int) float32 { return Unknown })
	}}),
}

// moveCurve is the probability that something moves by its speed in heights per second.
var moveCurve = curve{{0, .02}, {.05, .08}, {.10, .35}, {.18, .75}, {.5, .93}}
