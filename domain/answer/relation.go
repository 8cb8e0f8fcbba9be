package answer

import (
	"math"
	"slices"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

// related is the condition that another object, of one of the classes mine, is in a
// relation to the subject in the same frame. The most probable such object counts.
// Distances are in the frame, not in the world.
func related(r query.Relation, mine map[int]bool, ev evidence.Evidence, cal Calibration) condition {
	aspect := ev.AspectRatio()
	fits := map[query.Relation]func(a, b evidence.Box) float64{
		query.NextTo:  func(a, b evidence.Box) float64 { return beside(a, b, aspect) },
		query.LeftOf:  leftOf,
		query.RightOf: func(a, b evidence.Box) float64 { return leftOf(b, a) },
		query.On:      on,
		query.InFront: inFront,
		query.Behind:  func(a, b evidence.Box) float64 { return inFront(b, a) },
		query.Riding:  on,
	}[r]
	return func(s observation) []fit {
		detections := slices.Clone(s.others)
		for _, o := range s.objects {
			detections = append(detections, o.Detection)
		}
		out := make([]fit, len(s.objects))
		for i, o := range s.objects {
			if len(mine) == 0 {
				out[i] = unknownFit
				continue
			}
			out[i].Probability = .02
			for _, d := range detections {
				if mine[d.Term] && d.Score > 0 && d.Box != o.Box {
					out[i].Probability = max(out[i].Probability, cal.Probability(d.Score)*fits(o.Box, d.Box))
				}
			}
		}
		return out
	}
}

// beside is the probability that a is next to b: the gap between the boxes is small
// compared with their size. Boxes that overlap mostly are in front of each other.
func beside(a, b evidence.Box, aspect float64) float64 {
	dx := max(0, a.X1-b.X2, b.X1-a.X2) * aspect
	dy := max(0, a.Y1-b.Y2, b.Y1-a.Y2)
	size := math.Sqrt(max(evidence.Area(a), evidence.Area(b)) * aspect)
	if !(size > 0) {
		return 0
	}
	return interpolate([]Point{{0, .95}, {.3, .90}, {.6, .50}, {1, .15}, {2, .02}}, math.Hypot(dx, dy)/size)
}

// leftOf is the probability that a is to the left of b, by the distance of their centers.
func leftOf(a, b evidence.Box) float64 {
	ahead := (b.X1 + b.X2 - a.X1 - a.X2) / 2
	return interpolate([]Point{{-.03, .02}, {0, .30}, {.05, .85}, {.10, .96}}, ahead)
}

// on is the probability that a is on b: a stands above b, and its lower end is within b or
// touches its top.
func on(a, b evidence.Box) float64 {
	if evidence.ShareInside(a, b) >= contained {
		// A cup on a table that is seen from above. It may as well be in front of it.
		return .7
	}
	width := min(a.X2, b.X2) - max(a.X1, b.X1)
	if !(width > .5*min(a.X2-a.X1, b.X2-b.X1)) || !((a.Y1 + a.Y2) < (b.Y1 + b.Y2)) {
		return .03
	}
	// sunk is how far the lower end of a is below the top of b, in heights of b.
	sunk := (a.Y2 - b.Y1) / (b.Y2 - b.Y1)
	return interpolate([]Point{{-.25, .03}, {-.05, .70}, {.10, .88}, {.95, .88}, {1.2, .30}, {1.5, .05}}, sunk)
}

// inFront is the probability that a is in front of b. That is so when a covers a part of b
// or stands close to it, and its lower end is lower in the picture. Lower means nearer. An
// object that the lower edge of the frame cuts off may stand anywhere.
func inFront(a, b evidence.Box) float64 {
	width, height := min(a.X2, b.X2)-max(a.X1, b.X1), b.Y2-b.Y1
	if !(width > .25*min(a.X2-a.X1, b.X2-b.X1)) || !(a.Y1 < b.Y2+.2*height) || !(b.Y1 < a.Y2) {
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
	// The distance of the lower end of a below that of b, in heights of b.
	return interpolate([]Point{{-.10, .04}, {0, .45}, {.04, .75}, {.12, .88}}, (a.Y2-b.Y2)/height)
}

// atTheFoot reports whether a is a small object at the lower end of b. There it would be
// hidden if it were behind b.
func atTheFoot(a, b evidence.Box) bool {
	const mostly, near = .6, .04
	return evidence.ShareInside(a, b) >= mostly && evidence.Area(a) < evidence.Area(b)/2 && a.Y2 > b.Y2-near*(b.Y2-b.Y1)
}
