package answer

import (
	"cmp"
	"math"
	"slices"

	"vqa/domain/evidence"
)

const (
	// reach is how far an object may come between two samples, in its heights.
	reach = 2.5
	// clear is how far something may come that is the nearest, but not the only one that
	// it may be: in a crowd who comes farther may be anybody.
	clear = .5
	// resize is by which factor its height may change meanwhile.
	resize = 1.8
	// touching is the intersection over union from which two boxes are near whatever their
	// size: something wide goes far in heights, something cut off grows.
	touching = .1
	// trackGap is how many intervals may lie between two sights of an object: one sample
	// may miss it.
	trackGap = 2.1
	// maxFollowed bounds what is followed in one sample: the best of it.
	maxFollowed = 100
)

// linker finds the objects of one sample in the next.
type linker struct {
	intervalS, aspect float64
	// keep is the least score of what is followed.
	keep float64
	// kin reports whether two objects may be one by their classes.
	kin func(a, b object) bool

	camera camera
	// live are the objects that the next sample may show again, found how many there were.
	live  []lead
	found int
}

// lead is an object as it was seen last.
type lead struct {
	// number counts the objects in the order of their first sights.
	number int
	at     float64
	object object
}

// take returns the numbers of the objects of the next sample, -1 of what is not followed. The
// samples may be nearer to each other than the interval.
func (l *linker) take(s sighting) []int {
	l.camera.steady(s, l.keep, trackGap*l.intervalS)
	l.live = slices.DeleteFunc(l.live, func(t lead) bool { return !(s.at-t.at <= trackGap*l.intervalS) })
	from := make([]object, len(l.live))
	for i, t := range l.live {
		from[i] = t.object
	}
	numbers := slices.Repeat([]int{-1}, len(s.objects))
	for k, before := range l.match(from, s.objects) {
		switch o := s.objects[k]; {
		case before >= 0:
			t := &l.live[before]
			t.at, t.object, numbers[k] = s.at, o, t.number
		case o.Score >= l.keep:
			numbers[k] = l.found
			l.live, l.found = append(l.live, lead{l.found, s.at, o}), l.found+1
		}
	}
	return numbers
}

// pair is an object of one sample that may be one of the next.
type pair struct {
	a, b     int
	distance float64
	touching bool
}

// pairs are the objects of two samples that may be the same, the nearest first.
func (l *linker) pairs(from, to []object) []pair {
	var pairs []pair
	for a, x := range from {
		for b, y := range to {
			if y.Score < l.keep || !l.kin(x, y) {
				continue
			}
			p := pair{a, b, distance(x.scene, y.scene, l.aspect), evidence.IoU(x.scene, y.scene) >= touching}
			hx, hy := x.Box.Y2-x.Box.Y1, y.Box.Y2-y.Box.Y1
			if p.distance <= reach && (p.touching || hx <= resize*hy && hy <= resize*hx) {
				pairs = append(pairs, p)
			}
		}
	}
	slices.SortFunc(pairs, func(x, y pair) int {
		return cmp.Or(cmp.Compare(x.distance, y.distance), cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b))
	})
	return pairs
}

// match says which object each was before, -1 for none: the nearest first, unless one that
// came far may be another.
func (l *linker) match(from, to []object) []int {
	before := slices.Repeat([]int{-1}, len(to[:min(len(to), maxFollowed)]))
	pairs := l.pairs(from, to[:len(before)])
	left, taken := make([]bool, len(from)), make([]bool, len(to))
	for _, p := range pairs {
		if left[p.a] || taken[p.b] {
			continue
		}
		left[p.a], taken[p.b] = true, true
		mistaken := func(o pair) bool { return (o.a == p.a) != (o.b == p.b) && o.distance < 2*p.distance }
		if p.touching || p.distance <= clear || !slices.ContainsFunc(pairs, mistaken) {
			before[p.b] = p.a
		}
	}
	return before
}

// distance is the way between the centres of two boxes, in their mean height.
func distance(a, b evidence.Box, aspect float64) float64 {
	dx := (a.X1 + a.X2 - b.X1 - b.X2) / 2 * aspect
	dy := (a.Y1 + a.Y2 - b.Y1 - b.Y2) / 2
	height := (a.Y2 - a.Y1 + b.Y2 - b.Y1) / 2
	if !(height > 0) {
		return math.Inf(1)
	}
	return math.Hypot(dx, dy) / height
}
