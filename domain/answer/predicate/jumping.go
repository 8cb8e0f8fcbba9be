package predicate

import (
	"vqa/domain/query"
)

var jumping = Row{
	Kind: query.KindAction, Form: "jumping", Who: Walkers, Needs: Needs{PerSecond: 8, Seconds: 2 * flightS}, Moment: true,
	Example: "Does anyone jump?",
	Phrases: []string{"leaping", "hopping"},
	Bind:    exactly("jumping", Test{Along: jumps}),
}

// flightS is the longest time of a jump upward, or downward, in seconds.
const flightS = .75

// jumpCurve maps the rise of the whole box, in its own heights, to the probability of a jump.
var jumpCurve = curve{{0, .03}, {.03, .08}, {.06, .4}, {.10, .8}, {.2, .93}}

// jumps finds where both ends of a box rise and come down again.
func jumps(t Track, out []float32) {
	heights := make([]float64, t.Len())
	for k := range heights {
		heights[k] = t.height(k)
	}
	height := quantile(heights, .5)
	for k := range out {
		if t.Len() < 3 || !(height > 0) {
			out[k] = Unknown
			continue
		}
		first, last := t.within(k, flightS)
		if t.stands(first, last) { // a still picture
			out[k] = Unknown
			continue
		}
		up := min(t.rise(first, k, last, 0), t.rise(first, k, last, 1)) / height
		out[k] = float32(jumpCurve.at(up))
	}
}

// rise is how far the top (0) or the bottom (1) of the box at point k is above its lowest places before
// and after.
func (t Track) rise(first, k, last, end int) float64 {
	y := func(i int) float64 {
		b := t.Box(i)
		return []float64{b.Y1, b.Y2}[end]
	}
	lowest := func(from, to int) float64 {
		low := y(k)
		for i := from; i <= to; i++ {
			low = max(low, y(i))
		}
		return low
	}
	return min(lowest(first, k-1), lowest(k+1, last)) - y(k)
}
