package predicate

import (
	"strings"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

var ground = Row{
	Kind: query.KindLocation, Form: "on ground", Who: Walkers, Needs: Needs{Pose: true},
	Example: "Is there a dog on the ground?",
	Phrases: []string{"on floor", "on grass", "on sidewalk", "on pavement"},
	Bind: func(c query.Condition) (Test, bool) {
		under, ok := strings.CutPrefix(c.Value, "on ")
		return Test{Read: onGround, Along: lasting(postureS, true)}, ok && grounds[under]
	},
}

var grounds = map[string]bool{"ground": true, "floor": true, "grass": true, "sidewalk": true, "pavement": true}

// seats are the classes that people and animals sit, lie or ride on.
var seats = map[string]bool{
	"chair": true, "couch": true, "bed": true, "bench": true, "toilet": true, "dining table": true, "bicycle": true, "motorcycle": true,
	"horse": true, "elephant": true, "car": true, "truck": true, "bus": true, "boat": true,
}

// lowSeat is the probability that a sitting person sits on the ground, by the height of the hips above
// the lower foot, in lengths of the torso. A chair is as high as a shank.
var lowSeat = curve{{.2, .85}, {.4, .65}, {.55, .25}, {.7, .05}}

// onGround reads whether a person or an animal is on the ground, which no model detects: there must be no
// seat beneath. For people who sit, the feet must show it too, because the chair is often hidden. For
// people who stand it is unknown: the question hardly means them.
func onGround(f Frame, d evidence.Detection) Reading {
	p, ok := .9, true
	if b, person := bodyOf(d); person {
		s := StanceOf(d, f.Aspect)
		switch {
		case s.Laid && s.Lies > .5:
		case s.Sits > .5:
			p, ok = b.low()
		default:
			p, ok = .1, false
		}
	}
	for _, o := range f.Detections {
		if o.Term >= 0 && o.Term < len(f.Terms) && seats[f.Terms[o.Term]] && o.Box != d.Box {
			q := 1 - f.Probability(o)*atop(f, d.Box, o.Box)
			p, ok = min(p, q), ok || q <= .5
		}
	}
	return reading(p, ok)
}

// low is the probability that a sitting body sits on the ground, by the height of its hips above its
// feet.
func (b body) low() (p float64, ok bool) {
	hips, ok := b.mean(leftHip, rightHip)
	foot, seen := 0., false
	for _, ankle := range []int{leftAnkle, rightAnkle} {
		if b.seen(ankle) {
			foot, seen = max(foot, b.joints[ankle].Y), true
		}
	}
	if !ok || !seen {
		return 0, false
	}
	return lowSeat.at((foot - hips) / b.torso()), true
}
