package answer

import (
	"vqa/domain/evidence"
	"vqa/domain/query"
)

const (
	// flightS is how long a jump goes up, or comes down, at most, in seconds.
	flightS = .7
	// airborne is the part of the rise of a jump from which on a body is in the air.
	airborne = .3
	// pointed is how much less the feet of who jumps rise than the hips do: they point down.
	// The hips of who runs rise no more than the feet.
	pointed = .6
	// blur is by how much, in heights of the frame, the edges of a box tremble.
	blur = .004
)

// jumpCurve is the probability that a body jumped that rose, all of it, by a share of its
// height and came down again.
var jumpCurve = []Point{{0, noOccurrenceProbability}, {.02, .10}, {.035, .45}, {.05, .70}, {.08, .85}, {.15, .92}}

// jumps finds where a body rises and comes down again: its feet too, as they do not when it
// stretches, and its head, as it does not when it draws up its legs.
func (t Track) jumps() []occurrence {
	lifts := make([]float64, len(t.Points))
	for k := range t.Points {
		lifts[k] = t.liftAt(k)
	}
	var found []occurrence
	for k := 1; k+1 < len(lifts); k++ {
		peak := lifts[k]
		if !(peak > lifts[k-1]) || peak < lifts[k+1] {
			continue
		}
		first, last := k, k
		for first > 1 && lifts[first-1] >= airborne*peak {
			first--
		}
		for last+2 < len(lifts) && lifts[last+1] >= airborne*peak {
			last++
		}
		if first < last { // one look alone may be a box that is wrong
			found = append(found, occurrence{
				kind: query.Jumping, fromS: t.Points[first-1].At, toS: t.Points[last+1].At, probability: interpolate(jumpCurve, peak),
			})
		}
	}
	return found
}

// lift is how far the whole of a body is, in sight k, over its places shortly before and
// after, by its height: the least of what its parts rose.
func (t Track) liftAt(k int) float64 {
	best, at := 0., t.Points[k].At
	for a := k - 1; a >= 0 && at-t.Points[a].At <= flightS; a-- {
		for b := k + 1; b < len(t.Points) && t.Points[b].At-at <= flightS; b++ {
			best = max(best, min(rise(t.Points[a], t.Points[k]), rise(t.Points[b], t.Points[k])))
		}
	}
	return best
}

// rise is how far the whole of a body is over its place in another look, by its height.
func rise(on, at TrackPoint) float64 {
	height := max(on.Box.Y2-on.Box.Y1, at.Box.Y2-at.Box.Y1)
	if !(height > 0) {
		return 0
	}
	head, feet := on.Box.Y1-at.Box.Y1, on.Box.Y2-at.Box.Y2
	if feet <= blur {
		return 0
	}
	if on.limbs.hips > 0 && at.limbs.hips > 0 {
		head = min(head, pointed*(on.limbs.hips-at.limbs.hips))
	}
	if on.limbs.ankles > 0 && at.limbs.ankles > 0 {
		feet = on.limbs.ankles - at.limbs.ankles // the box ends at the toes, which point down
	}
	return max(0, min(head, feet)-blur) / height
}

// limbs are the heights in the frame of the lower hip and the lower ankle of a body, 0 where
// one of both is not seen.
type limbs struct{ hips, ankles float64 }

func limbsOf(d evidence.Detection) limbs {
	b := body{box: d.Box, joints: d.Keypoints}
	lower := func(left, right int) float64 {
		if len(d.Keypoints) != evidence.NumKeypoints || !b.seen(left, right) {
			return 0
		}
		return max(d.Keypoints[left].Y, d.Keypoints[right].Y)
	}
	return limbs{lower(leftHip, rightHip), lower(leftAnkle, rightAnkle)}
}
