package evidence

import (
	"cmp"
	"math"
	"slices"
)

const (
	// reach is the largest distance of an object between two samples, in its heights.
	reach = 2.5
	// clear is the largest distance at which the nearest of several candidates is accepted,
	// in heights. In a crowd, somebody who is farther away may be anybody.
	clear = .5
	// resize is the largest factor by which the height of an object changes between samples.
	resize = 1.8
	// touching is the intersection over union from which two boxes of any size are
	// near. A wide object moves far in its heights, and one that is cut off grows.
	touching = .1
	// TrackGap is the longest time without a detection within a track, in sampling
	// intervals: one sample may miss the object.
	TrackGap = 2.1
	// MaxLinked bounds the objects of one sample that are followed: the best of it.
	MaxLinked = 100
)

// Object is one object in a sample.
type Object struct {
	Detection
	// OtherTerms are the terms of weaker detections of the same object.
	OtherTerms []int
	// Scene is the box without the movement of the camera. It is the place in the picture
	// of the first sample, and may lie outside of that picture. A Linker sets it.
	Scene Box
	// Segment numbers the parts of a video within which the movement of the camera is known.
	// Places in different segments cannot be compared. A Linker sets it.
	Segment int
}

// SharesTerm reports whether both objects were detected as one of the same terms.
func (o Object) SharesTerm(other Object) bool {
	return o.Term == other.Term || slices.Contains(o.OtherTerms, other.Term) || slices.Contains(other.OtherTerms, o.Term)
}

// Linker finds the objects of one sample in the next. Samples come in the order of time.
type Linker struct {
	// IntervalS is the sampling interval in seconds, Aspect the width of a frame over its
	// height.
	IntervalS, Aspect float64
	// Keep is the least score of an object that is followed.
	Keep float64
	// SameKind reports whether two objects may be the same by their terms.
	SameKind func(a, b Object) bool

	camera camera
	// live are the objects that the next sample may show again; found counts all objects.
	live  []lead
	found int
}

// lead is an object as it was detected last.
type lead struct {
	// number counts the objects in the order of their first detections.
	number int
	atS    float64
	object Object
}

// Link returns the number of each object of the next sample, -1 for objects that are not
// followed. Numbers count up from 0. It also sets Scene and Segment of the objects, from the
// shades of the frame beside the objects and the other detections. Samples may be closer
// together than the interval.
func (l *Linker) Link(atS float64, shades []byte, objects []*Object, others []Detection) []int {
	l.camera.steady(atS, shades, objects, others, l.Keep, TrackGap*l.IntervalS)
	l.live = slices.DeleteFunc(l.live, func(t lead) bool { return !(atS-t.atS <= TrackGap*l.IntervalS) })
	numbers := slices.Repeat([]int{-1}, len(objects))
	for k, before := range l.match(objects) {
		switch o := objects[k]; {
		case before >= 0:
			t := &l.live[before]
			t.atS, t.object, numbers[k] = atS, *o, t.number
		case o.Score >= l.Keep:
			numbers[k] = l.found
			l.live, l.found = append(l.live, lead{l.found, atS, *o}), l.found+1
		}
	}
	return numbers
}

// pair is a live object and an object of the next sample that may be the same.
type pair struct {
	live, next int
	distance   float64
	touching   bool
}

// pairs returns the possible pairs, the nearest first.
func (l *Linker) pairs(next []*Object) []pair {
	var pairs []pair
	for i, t := range l.live {
		for k, o := range next {
			if o.Score < l.Keep || !l.SameKind(t.object, *o) {
				continue
			}
			p := pair{i, k, Distance(t.object.Scene, o.Scene, l.Aspect), IoU(t.object.Scene, o.Scene) >= touching}
			before, after := t.object.Box.Y2-t.object.Box.Y1, o.Box.Y2-o.Box.Y1
			if p.distance <= reach && (p.touching || before <= resize*after && after <= resize*before) {
				pairs = append(pairs, p)
			}
		}
	}
	slices.SortFunc(pairs, func(x, y pair) int {
		return cmp.Or(cmp.Compare(x.distance, y.distance), cmp.Compare(x.live, y.live), cmp.Compare(x.next, y.next))
	})
	return pairs
}

// match returns the live object that each object of the next sample was before, -1 for
// none. The nearest pairs are taken first. A pair that is far apart is skipped when one of
// the two may as well belong to another pair.
func (l *Linker) match(next []*Object) []int {
	before := slices.Repeat([]int{-1}, len(next[:min(len(next), MaxLinked)]))
	pairs := l.pairs(next[:len(before)])
	left, taken := make([]bool, len(l.live)), make([]bool, len(next))
	for _, p := range pairs {
		if left[p.live] || taken[p.next] {
			continue
		}
		left[p.live], taken[p.next] = true, true
		mistaken := func(o pair) bool { return (o.live == p.live) != (o.next == p.next) && o.distance < 2*p.distance }
		if p.touching || p.distance <= clear || !slices.ContainsFunc(pairs, mistaken) {
			before[p.next] = p.live
		}
	}
	return before
}

// Distance is the distance between the centers of two boxes, in their mean height; infinite
// for boxes without a height.
func Distance(a, b Box, aspect float64) float64 {
	dx := (a.X1 + a.X2 - b.X1 - b.X2) / 2 * aspect
	dy := (a.Y1 + a.Y2 - b.Y1 - b.Y2) / 2
	height := (a.Y2 - a.Y1 + b.Y2 - b.Y1) / 2
	if !(height > 0) {
		return math.Inf(1)
	}
	return math.Hypot(dx, dy) / height
}
