package narrative

import (
	"cmp"
	"slices"

	"vqa/domain/answer"
	"vqa/domain/evidence"
)

// minStepOverlap is the intersection over union of a thing with itself in a fine frame next to
// another.
const minStepOverlap = .1

// fineSamples are the fine looks between samples, which tell more exactly when a thing came and
// went.
type fineSamples struct {
	frames []evidence.Frame
	keep   float64
}

func fineSamplesOf(ev evidence.Evidence, cal answer.Calibration) fineSamples {
	fine := make([]evidence.Frame, len(ev.Fine))
	for i, f := range ev.Fine {
		fine[i] = f.Load(false)
	}
	slices.SortStableFunc(fine, func(a, b evidence.Frame) int { return cmp.Compare(a.At, b.At) })
	return fineSamples{fine, cal.Keep}
}

// firstSeen is when a thing was first seen, and not before the sample at floor.
func (e fineSamples) firstSeen(t *object, floor float64) float64 {
	at, box := t.first().At, t.first().Box
	for _, f := range slices.Backward(e.between(floor, at)) {
		seen, ok := e.find(t, f, box)
		if !ok {
			break
		}
		at, box = f.At, seen
	}
	return at
}

// firstMissed is when a thing was first looked for in vain: at the sample at next, or before.
func (e fineSamples) firstMissed(t *object, next float64) float64 {
	box := t.last().Box
	for _, f := range e.between(t.last().At, next) {
		seen, ok := e.find(t, f, box)
		if !ok {
			return f.At
		}
		box = seen
	}
	return next
}

// between are the fine looks between two times.
func (e fineSamples) between(from, to float64) []evidence.Frame {
	byTime := func(f evidence.Frame, at float64) int { return cmp.Compare(f.At, at) }
	first, at := slices.BinarySearchFunc(e.frames, from, byTime)
	if at {
		first++
	}
	last, _ := slices.BinarySearchFunc(e.frames, to, byTime)
	return e.frames[min(first, last):last]
}

// find finds a thing near to where it was.
func (e fineSamples) find(t *object, f evidence.Frame, near evidence.Box) (evidence.Box, bool) {
	var found evidence.Box
	best := minStepOverlap
	for _, d := range f.Detections {
		reading := slices.ContainsFunc(t.sights, func(s answer.TrackPoint) bool { return s.Term == d.Term })
		if o := evidence.IoU(d.Box, near); reading && d.Score >= e.keep && o >= best {
			found, best = d.Box, o
		}
	}
	return found, found != (evidence.Box{})
}
