package evidence

import (
	"cmp"
	"math"
	"slices"
)

// MaxLinked bounds the objects of one frame that are followed: the first of them.
const MaxLinked = 100

// Linker finds the objects of one frame in the next. Frames come in the order of time.
type Linker struct {
	// Aspect is the width of a frame over its height.
	Aspect float64
	// GapS is the longest time without an object within its track, in seconds.
	GapS float64
	// Two boxes are one object when their intersection over union is at least Overlap, or when their
	// centers are nearer than Distance, in sizes of the object. The distance grows with the seconds
	// between them, if more than one. Something fast may be up to farther times as far away, if nothing else
	// could be meant.
	Overlap, Distance float64
	// Picture is the part of the scene that the next frame shows. Something on its way out that is not seen
	// for GoneS seconds has left: what comes back is another track. 0 turns this off.
	Picture Box
	GoneS   float64

	// live are the tracks that the next frame may continue; found counts all tracks.
	live  []lead
	found int
}

const (
	// farther is how much farther than Distance an object is looked for that is alone.
	farther = 2.5
	// resize is the largest factor by which the height of such an object changes.
	resize = 1.8
)

// lead is the end of a track.
type lead struct {
	box    Box
	number int
	atS    float64
	// vx and vy are its speed in frames per second, once it is known.
	vx, vy float64
	moves  bool
}

// Cut ends all tracks: the next frame is in another scene.
func (l *Linker) Cut() { l.live = nil }

// Link returns the number of the track that each object of the next frame belongs to, -1 for objects that
// are not followed. The boxes are places in the scene, without the movement of the camera. Numbers count up
// from 0. Frames may come at any distance.
func (l *Linker) Link(atS float64, objects []Box) []int {
	l.live = slices.DeleteFunc(l.live, func(t lead) bool { return !(atS-t.atS <= l.GapS+1e-6) || l.left(t, atS) })
	numbers := slices.Repeat([]int{-1}, len(objects))
	objects = objects[:min(len(objects), MaxLinked)]
	left := make([]bool, len(l.live))
	pairs := l.pairs(atS, objects)
	for _, p := range pairs {
		other := func(o pair) bool { return o != p && (o.live == p.live || o.next == p.next) }
		if left[p.live] || numbers[p.next] >= 0 || p.far && slices.ContainsFunc(pairs, other) {
			continue
		}
		left[p.live] = true
		t := &l.live[p.live]
		t.follow(atS, objects[p.next])
		numbers[p.next] = t.number
	}
	for k, o := range objects {
		if numbers[k] < 0 {
			numbers[k] = l.found
			l.live, l.found = append(l.live, lead{box: o, number: l.found, atS: atS}), l.found+1
		}
	}
	return numbers
}

// left reports whether an object went out of the picture and has not been seen since.
func (l *Linker) left(t lead, atS float64) bool {
	seconds := atS - t.atS
	x, y := (t.box.X1+t.box.X2)/2+t.vx*seconds, (t.box.Y1+t.box.Y2)/2+t.vy*seconds
	p := l.Picture
	return t.moves && l.GoneS > 0 && seconds >= l.GoneS-1e-6 && (x < p.X1 || x > p.X2 || y < p.Y1 || y > p.Y2)
}

// follow moves the end of a track to an object of the next frame.
func (t *lead) follow(atS float64, o Box) {
	seconds := atS - t.atS
	vx := (o.X1 + o.X2 - t.box.X1 - t.box.X2) / 2 / seconds
	vy := (o.Y1 + o.Y2 - t.box.Y1 - t.box.Y2) / 2 / seconds
	if t.moves { // one box alone is too noisy
		vx, vy = (vx+t.vx)/2, (vy+t.vy)/2
	}
	t.box, t.atS, t.vx, t.vy, t.moves = o, atS, vx, vy, true
}

// pair is a live track and an object of the next frame that may continue it.
type pair struct {
	live, next int
	cost       float64
	far        bool
}

// pairs returns the possible pairs, the best first.
func (l *Linker) pairs(atS float64, next []Box) []pair {
	var pairs []pair
	for i, t := range l.live {
		seconds := atS - t.atS
		if !(seconds > 0) {
			continue
		}
		dx, dy := t.vx*seconds, t.vy*seconds
		expected := Box{X1: t.box.X1 + dx, Y1: t.box.Y1 + dy, X2: t.box.X2 + dx, Y2: t.box.Y2 + dy}
		for k, o := range next {
			overlap := max(IoU(expected, o), IoU(t.box, o))
			area := max(Area(t.box), Area(o))
			distance := min(l.distance(expected, o, area), l.distance(t.box, o, area))
			before, after := t.box.Y2-t.box.Y1, o.Y2-o.Y1
			near := overlap >= l.Overlap || distance <= l.Distance*max(1, seconds)
			alike := before <= resize*after && after <= resize*before
			if near || alike && distance <= farther*l.Distance*max(1, seconds) {
				pairs = append(pairs, pair{i, k, distance/2 - overlap, !near})
			}
		}
	}
	slices.SortFunc(pairs, func(x, y pair) int {
		return cmp.Or(cmp.Compare(x.cost, y.cost), cmp.Compare(x.live, y.live), cmp.Compare(x.next, y.next))
	})
	return pairs
}

// distance is that of the centers of two boxes, in lengths of the side of a square with an area.
func (l *Linker) distance(a, b Box, area float64) float64 {
	size := math.Sqrt(area * l.Aspect)
	if !(size > 0) {
		return math.Inf(1)
	}
	return math.Hypot((a.X1+a.X2-b.X1-b.X2)/2*l.Aspect, (a.Y1+a.Y2-b.Y1-b.Y2)/2) / size
}
