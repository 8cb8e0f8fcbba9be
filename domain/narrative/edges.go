package narrative

import (
	"cmp"
	"slices"

	"vqa/domain/answer"
	"vqa/domain/evidence"
)

// sameStep is the intersection over union of a thing with itself in a fine frame next to
// another.
const sameStep = .1

// edges are the fine looks between samples, which tell more exactly when a thing came and
// went.
type edges struct {
	fine []evidence.Frame
	keep float64
}

func edgesOf(ev evidence.Evidence, cal answer.Calibration) edges {
	fine := make([]evidence.Frame, len(ev.Fine))
	for i, f := range ev.Fine {
		fine[i] = f.Load(false)
	}
	slices.SortStableFunc(fine, func(a, b evidence.Frame) int { return cmp.Compare(a.At, b.At) })
	return edges{fine, cal.Keep}
}

// came is when a thing was first seen, and not before the sample at floor.
func (e edges) came(t *thing, floor float64) float64 {
	at, box := t.first().At, t.first().Box
	for _, f := range slices.Backward(e.within(floor, at)) {
		seen, ok := e.seen(t, f, box)
		if !ok {
			break
		}
		at, box = f.At, seen
	}
	return at
}

// gone is when a thing was first looked for in vain: at the sample at next, or before.
func (e edges) gone(t *thing, next float64) float64 {
	box := t.last().Box
	for _, f := range e.within(t.last().At, next) {
		seen, ok := e.seen(t, f, box)
		if !ok {
			return f.At
		}
		box = seen
	}
	return next
}

// within are the fine looks between two times.
func (e edges) within(from, to float64) []evidence.Frame {
	byTime := func(f evidence.Frame, at float64) int { return cmp.Compare(f.At, at) }
	first, at := slices.BinarySearchFunc(e.fine, from, byTime)
	if at {
		first++
	}
	last, _ := slices.BinarySearchFunc(e.fine, to, byTime)
	return e.fine[min(first, last):last]
}

// seen finds a thing near to where it was.
func (e edges) seen(t *thing, f evidence.Frame, near evidence.Box) (evidence.Box, bool) {
	var found evidence.Box
	best := sameStep
	for _, d := range f.Detections {
		reading := slices.ContainsFunc(t.sights, func(s answer.TrackPoint) bool { return s.Term == d.Term })
		if o := evidence.IoU(d.Box, near); reading && d.Score >= e.keep && o >= best {
			found, best = d.Box, o
		}
	}
	return found, found != (evidence.Box{})
}
