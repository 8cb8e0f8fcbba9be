package answer

import (
	"cmp"
	"math"
	"slices"

	"vqa/domain/query"
)

// motion is how an object moves, in heights of its box a second.
type motion struct {
	// speed is the mean of the speeds to its neighbouring samples.
	speed float64
	// pace is the way it has made within a second to either side, by the time: what
	// sways on one spot makes none.
	pace float64
	// known is false for what was seen in no neighbouring sample.
	known bool
}

const (
	// reach is how far an object may come between two samples, in its heights.
	reach = 2.5
	// resize is by which factor its height may change meanwhile.
	resize = 1.8
	// frozen is the speed under which not even the noise of a camera shows, in heights
	// a second.
	frozen = .001
	// paceSamples is how far to either side the pace looks, in samples.
	paceSamples = 2
)

// link says which object of the next sample an object is, -1 for none.
type link []int

// follow finds the objects of each sighting in the next and says how each moves.
func follow(all []sighting, ev Evidence, cal Calibration) {
	aspect := ev.aspect()
	links := make([]link, len(all))
	for i := range all {
		links[i] = loose(len(all[i].objects))
		if i+1 < len(all) && neighbours(all[i].at, all[i+1].at, ev.IntervalS) {
			links[i].match(all[i].objects, all[i+1].objects, aspect, cal)
		}
	}
	back := reversed(links)
	stances(all, links, back, aspect)
	for i := range all {
		for k := range all[i].objects {
			all[i].objects[k].motion = motionOf(all, links, back, i, k, aspect)
		}
	}
}

// loose is n objects without a link.
func loose(n int) link { return slices.Repeat(link{-1}, n) }

// reversed says which object of the sample before an object is.
func reversed(links []link) []link {
	back := make([]link, len(links))
	for i := range links {
		back[i] = loose(len(links[i]))
		if i == 0 {
			continue
		}
		for k, to := range links[i-1] {
			if to >= 0 {
				back[i][to] = k
			}
		}
	}
	return back
}

// neighbours reports whether no sample is missing between two times.
func neighbours(a, b, intervalS float64) bool { return b > a && b-a < 1.5*intervalS }

// match pairs the nearest objects first.
func (l link) match(from, to []object, aspect float64, cal Calibration) {
	type pair struct {
		a, b     int
		distance float64
	}
	var pairs []pair
	for a, x := range from {
		for b, y := range to {
			if x.Score < cal.Keep || y.Score < cal.Keep {
				continue
			}
			d := distance(x.Box, y.Box, aspect)
			hx, hy := x.Box.Y2-x.Box.Y1, y.Box.Y2-y.Box.Y1
			if d <= reach && hx <= resize*hy && hy <= resize*hx {
				pairs = append(pairs, pair{a, b, d})
			}
		}
	}
	slices.SortFunc(pairs, func(x, y pair) int {
		return cmp.Or(cmp.Compare(x.distance, y.distance), cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b))
	})
	taken := map[int]bool{}
	for _, p := range pairs {
		if l[p.a] < 0 && !taken[p.b] {
			l[p.a], taken[p.b] = p.b, true
		}
	}
}

// distance is the way between the centres of two boxes, in their mean height.
func distance(a, b Box, aspect float64) float64 {
	dx := (a.X1 + a.X2 - b.X1 - b.X2) / 2 * aspect
	dy := (a.Y1 + a.Y2 - b.Y1 - b.Y2) / 2
	height := (a.Y2 - a.Y1 + b.Y2 - b.Y1) / 2
	if !(height > 0) {
		return math.Inf(1)
	}
	return math.Hypot(dx, dy) / height
}

// motionOf follows object k of sighting i to both sides.
func motionOf(all []sighting, forth, back []link, i, k int, aspect float64) motion {
	walk := func(links []link, step int) (speed float64, at, object, steps int) {
		at, object = i, k
		for steps < paceSamples {
			next := links[at][object]
			if next < 0 {
				break
			}
			if steps == 0 {
				speed = distance(all[at].objects[object].Box, all[at+step].objects[next].Box, aspect) / math.Abs(all[at+step].at-all[at].at)
			}
			at, object = at+step, next
			steps++
		}
		return speed, at, object, steps
	}
	before, first, a, nBefore := walk(back, -1)
	after, last, b, nAfter := walk(forth, 1)
	sides := min(nBefore, 1) + min(nAfter, 1)
	if sides == 0 {
		return motion{}
	}
	way := distance(all[first].objects[a].Box, all[last].objects[b].Box, aspect)
	return motion{
		speed: (before + after) / float64(sides), pace: way / (all[last].at - all[first].at), known: true,
	}
}

// The probabilities of gaits by speed in heights a second. A person walks at about 0.8
// and runs from 1.5 on when seen from the side, slower when seen from ahead; an animal on
// four legs is about as long as it is high.
var (
	walkingCurve = []Point{{0, .03}, {.12, .06}, {.20, .30}, {.35, .75}, {.80, .85}, {1.3, .60}, {2, .15}, {3, .05}}
	runningCurve = []Point{{0, .02}, {.6, .06}, {1.0, .30}, {1.4, .70}, {2.2, .88}, {4, .93}}
)

// moving judges by the way of the box. A camera that moves moves everything; what it
// follows stands still. What shows in no neighbouring sample, and scores over threshold,
// is untold, and so is what does not move at all: a still picture of a runner.
func moving(g query.Gait, threshold float64) fitsOf {
	return each(func(o object) fitness {
		switch m := o.motion; {
		case !m.known || m.speed < frozen:
			return fitness{Probability: .05, Untold: o.Score >= threshold}
		case g == query.Running:
			return fitness{Probability: interpolate(runningCurve, m.speed)}
		default:
			return fitness{Probability: interpolate(walkingCurve, m.pace)}
		}
	})
}
