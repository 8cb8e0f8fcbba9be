package predicate

import (
	"math"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

var walking = Row{
	Kind: query.KindAction, Form: "walking", Who: People, Needs: Needs{Pose: true, Seconds: 2 * pace},
	Example: "Is a person walking?",
	Phrases: []string{"strolling", "taking a walk"},
	Bind: exactly("walking", Test{
		Read: func(f Frame, d evidence.Detection) Reading { return reading(stride(d, f.Aspect)) },
		Along: func(t Track, out []float32) {
			t.moves(out, func(_ int, heights float64) float64 { return walkCurve.at(heights) },
				func(k int) float32 { return t.Reading(k)[0] })
		},
	}),
}

// walkCurve is the probability of walking by the speed in heights per second.
var walkCurve = curve{{0, .03}, {.12, .07}, {.18, .30}, {.24, .56}, {.35, .78}, {.80, .85}, {1.3, .60}, {2, .15}, {3, .05}}

// stride is the probability that a body in a still picture walks, by the distance of the ankles in
// lengths of the leg.
func stride(d evidence.Detection, aspect float64) (p float64, ok bool) {
	b, ok := bodyOf(d)
	if !ok || !b.seen(leftAnkle, rightAnkle) {
		return 0, false
	}
	l, r := b.joints[leftAnkle], b.joints[rightAnkle]
	hips, ok := b.mean(leftHip, rightHip)
	leg := max(l.Y, r.Y) - hips
	if !ok || !(leg > 0) {
		return .05, ok
	}
	apart := math.Hypot((l.X-r.X)*aspect, l.Y-r.Y) / leg
	return curve{{0, .05}, {.15, .12}, {.25, .40}, {.35, .68}, {.7, .72}, {1, .40}, {1.5, .10}}.at(apart), true
}
