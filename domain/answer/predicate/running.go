package predicate

import "vqa/domain/query"

var running = Row{
	Kind: query.KindAction, Form: "running", Who: Walkers, Needs: Needs{PerSecond: 4, Seconds: 2 * pace},
	Example: "Is a dog running?",
	Phrases: []string{"jogging", "sprinting"},
	Bind: exactly("running", Test{Along: func(t Track, out []float32) {
		t.moves(out, func(k int, heights float64) float64 { return runCurve.at(t.sprint(k, heights)) },
			func(int) float32 { return Unknown })
	}}),
}

// runCurve is the probability of running by the speed in heights per second.
var runCurve = curve{{0, .02}, {.6, .06}, {1, .30}, {1.4, .70}, {2.2, .88}, {4, .93}}

// sprint is the speed at point k over a shorter time. Somebody who turns around runs as well, but in a
// crowd an object that jumps to and fro is several people.
func (t Track) sprint(k int, net float64) float64 {
	first, last := t.within(k, .3)
	if heights, ok := t.speed(first, last); ok {
		return min(heights, 2*net+.2)
	}
	return net
}
