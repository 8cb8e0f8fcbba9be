package answer

import (
	"vqa/domain/evidence"
	"vqa/domain/query"
)

const (
	// flightS is the longest time of a jump upward, or downward, in seconds.
	flightS = .7
	// airborne is the part of the rise of a jump from which the body is in the air.
	airborne = .3
	// jumpFeetRatio is the rise of the feet divided by the rise of the hips in a jump: the
	// feet point down. The hips of a runner rise at most as much as the feet.
	jumpFeetRatio = .6
	// blur is the noise of the edges of a box, in heights of the frame.
	blur = .004
)

// jumpCurve is the probability that a body which rose as a whole and came down again
// jumped, by the rise in its heights.
var jumpCurve = []Point{{0, noOccurrenceProbability}, {.02, .10}, {.035, .45}, {.05, .70}, {.08, .85}, {.15, .92}}

// jumps finds where a body rises and comes down again. Its feet must rise, which they do
// not when it stretches, and its head, which does not when it draws up its legs.
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
		if first < last { // a single frame may have a wrong box
			found = append(found, occurrence{
				kind: query.Jumping, fromS: t.Points[first-1].At, toS: t.Points[last+1].At, probability: interpolate(jumpCurve, peak),
			})
		}
	}
	return found
}

// liftAt is the rise of the whole body at point k above its places shortly before and
// after, by its height. The part that rose least counts.
func (t Track) liftAt(k int) float64 {
	best, at := 0., t.Points[k].At
	for a := k - 1; a >= 0 && at-t.Points[a].At <= flightS; a-- {
		for b := k + 1; b < len(t.Points) && t.Points[b].At-at <= flightS; b++ {
			best = max(best, min(rise(t.Points[a], t.Points[k]), rise(t.Points[b], t.Points[k])))
		}
	}
	return best
}

// rise is the rise of the whole body above its place at another point, by its height.
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
		head = min(head, jumpFeetRatio*(on.limbs.hips-at.limbs.hips))
	}
	if on.limbs.ankles > 0 && at.limbs.ankles > 0 {
		feet = on.limbs.ankles - at.limbs.ankles // the box ends at the toes, which point down
	}
	return max(0, min(head, feet)-blur) / height
}

// limbs are the heights in the frame of the lower hip and the lower ankle of a body. A
// height is 0 when the left or the right joint is not seen.
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
