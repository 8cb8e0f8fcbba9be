package narrative

import (
	"cmp"
	"slices"

	"vqa/domain/answer"
	"vqa/domain/evidence"
)

// minStepOverlap is the least intersection over union of the boxes of one object in two
// neighboring fine samples.
const minStepOverlap = .1

// fineSamples are the samples between the regular ones. They show more exactly when an object
// appears and disappears.
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

// firstSeen is the time at which an object is first seen, after the sample at floor.
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

// firstMissed is the time of the first sample without the object: the sample at next, or a fine
// sample before it.
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

// between are the fine samples between two times.
func (e fineSamples) between(from, to float64) []evidence.Frame {
	byTime := func(f evidence.Frame, at float64) int { return cmp.Compare(f.At, at) }
	first, at := slices.BinarySearchFunc(e.frames, from, byTime)
	if at {
		first++
	}
	last, _ := slices.BinarySearchFunc(e.frames, to, byTime)
	return e.frames[min(first, last):last]
}

// find finds an object near its last place.
func (e fineSamples) find(t *object, f evidence.Frame, near evidence.Box) (evidence.Box, bool) {
	var found evidence.Box
	best := minStepOverlap
	for _, d := range f.Detections {
		reading := slices.ContainsFunc(t.points, func(s answer.TrackPoint) bool { return s.Term == d.Term })
		if o := evidence.IoU(d.Box, near); reading && d.Score >= e.keep && o >= best {
			found, best = d.Box, o
		}
	}
	return found, found != (evidence.Box{})
}
