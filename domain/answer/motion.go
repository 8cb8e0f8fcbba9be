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
	// picture is true for what does not move at all, not even by the noise of a camera.
	picture bool
}

const (
	// reach is how far an object may come between two samples, in its heights.
	reach = 2.5
	// clear is how far something may come that is the nearest, but not the only one that
	// it may be: in a crowd who comes farther may be anybody.
	clear = .5
	// resize is by which factor its height may change meanwhile.
	resize = 1.8
	// frozen is the speed under which not even the noise of a camera shows, in heights
	// a second.
	frozen = .001
	// straight is how much faster than its pace somebody runs at most: people run ahead,
	// and what jumps to and fro in a crowd is several of them.
	straight = 1.3
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

// pair is an object of one sample that may be one of the next.
type pair struct {
	a, b     int
	distance float64
}

// pairsOf are the objects of two samples that may be the same, the nearest first.
func pairsOf(from, to []object, aspect float64, cal Calibration) []pair {
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
	return pairs
}

// match pairs the nearest objects first, unless one that came far may be another.
func (l link) match(from, to []object, aspect float64, cal Calibration) {
	pairs := pairsOf(from, to, aspect, cal)
	// The two nearest of each tell if there is another that it may be.
	nearA, nearB := make([][]pair, len(from)), make([][]pair, len(to))
	for _, p := range pairs {
		if len(nearA[p.a]) < 2 {
			nearA[p.a] = append(nearA[p.a], p)
		}
		if len(nearB[p.b]) < 2 {
			nearB[p.b] = append(nearB[p.b], p)
		}
	}
	left, taken := make([]bool, len(from)), make([]bool, len(to))
	for _, p := range pairs {
		if left[p.a] || taken[p.b] {
			continue
		}
		left[p.a], taken[p.b] = true, true
		mistaken := func(other pair) bool { return other != p && other.distance < 2*p.distance }
		if p.distance <= clear || !slices.ContainsFunc(nearA[p.a], mistaken) && !slices.ContainsFunc(nearB[p.b], mistaken) {
			l[p.a] = p.b
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
	before, after := stepsOf(all, back, i, k, -1, aspect), stepsOf(all, forth, i, k, 1, aspect)
	sides := min(len(before.speeds), 1) + min(len(after.speeds), 1)
	if sides == 0 {
		return motion{}
	}
	way := distance(before.last.Box, after.last.Box, aspect)
	return motion{
		speed: (before.next() + after.next()) / float64(sides), pace: way / (after.at - before.at), known: true,
		picture: before.frozen() >= 2 || after.frozen() >= 2 || before.frozen() >= 1 && after.frozen() >= 1,
	}
}

// steps are those of an object to one side.
type steps struct {
	// speeds are in heights a second, the nearest step first.
	speeds []float64
	// last is the object where it was followed to, and at when.
	last object
	at   float64
}

func stepsOf(all []sighting, links []link, i, k, by int, aspect float64) steps {
	s := steps{last: all[i].objects[k], at: all[i].at}
	for len(s.speeds) < paceSamples {
		if k = links[i][k]; k < 0 {
			break
		}
		i += by
		to := all[i].objects[k]
		s.speeds = append(s.speeds, distance(s.last.Box, to.Box, aspect)/math.Abs(all[i].at-s.at))
		s.last, s.at = to, all[i].at
	}
	return s
}

// next is the speed of the nearest step, 0 without one.
func (s steps) next() float64 {
	if len(s.speeds) == 0 {
		return 0
	}
	return s.speeds[0]
}

// frozen is the number of steps from the nearest on in which nothing moved.
func (s steps) frozen() int {
	for n, speed := range s.speeds {
		if speed >= frozen {
			return n
		}
	}
	return len(s.speeds)
}

// The probabilities of gaits by speed in heights a second. A person walks at about 0.8
// and runs from 1.5 on when seen from the side, slower when seen from ahead; an animal on
// four legs is about as long as it is high.
var (
	walkingCurve = []Point{{0, .03}, {.12, .07}, {.18, .30}, {.24, .56}, {.35, .78}, {.80, .85}, {1.3, .60}, {2, .15}, {3, .05}}
	movingCurve  = []Point{{0, .02}, {.05, .08}, {.10, .35}, {.18, .75}, {.5, .93}}
	runningCurve = []Point{{0, .02}, {.6, .06}, {1.0, .30}, {1.4, .70}, {2.2, .88}, {4, .93}}
)

// moving judges by the way of the box. A camera that moves moves everything; what it
// follows stands still. What shows in no neighbouring sample, and scores over threshold,
// is untold; in a still picture the stride tells.
func moving(g query.Gait, threshold, aspect float64) fitsOf {
	return each(func(o object) fitness {
		switch m := o.motion; {
		case !m.known:
			return fitness{Probability: .05, Untold: o.Score >= threshold}
		case m.picture:
			return pictured(g, o, aspect)
		case g == query.Moving:
			return fitness{Probability: interpolate(movingCurve, m.pace)}
		case g == query.Running:
			return fitness{Probability: interpolate(runningCurve, min(m.speed, straight*m.pace))}
		default:
			return fitness{Probability: interpolate(walkingCurve, m.pace)}
		}
	})
}

// strideCurve is the probability that a standing body walks, by the way between its
// ankles in lengths of its legs.
var strideCurve = []Point{{0, .05}, {.15, .12}, {.25, .40}, {.35, .68}, {.7, .72}, {1, .40}, {1.5, .10}}

// runningStride is how far apart the feet of one who runs are at least for a moment.
const runningStride = .5

// pictured judges what a still picture shows of a gait.
func pictured(g query.Gait, o object, aspect float64) fitness {
	b := body{box: o.Box, joints: o.Keypoints}
	switch {
	case g == query.Moving || len(o.Keypoints) != joints || !o.stance.upright:
		return fitness{Probability: .05, Untold: true}
	case o.stance.stands < .5:
		return fitness{Probability: .05}
	}
	hips, ok := b.mean(leftHip, rightHip)
	if !ok || !b.seen(leftAnkle, rightAnkle) {
		return fitness{Probability: .05, Untold: true}
	}
	l, r := b.joints[leftAnkle], b.joints[rightAnkle]
	leg := max(l.Y, r.Y) - hips
	if !(leg > 0) {
		return fitness{Probability: .05, Untold: true}
	}
	apart := math.Hypot((l.X-r.X)*aspect, l.Y-r.Y) / leg
	if g == query.Running {
		return fitness{Probability: .05, Untold: apart > runningStride}
	}
	return fitness{Probability: interpolate(strideCurve, apart)}
}
