package answer

import (
	"iter"
	"math"
	"slices"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

// motion is how an object moves, in heights of its box a second.
type motion struct {
	// speed is the mean of the speeds to its sights before and after.
	speed float64
	// pace is the way it has made within a second to either side, by the time: what
	// sways on one spot makes none.
	pace float64
	// known is false for what was followed to neither side, or by a camera whose way is not.
	known bool
	// picture is true for what does not move at all, not even by the noise of a camera.
	still bool
}

const (
	// frozen is the speed under which not even the noise of a camera shows, in heights
	// a second.
	frozen = .001
	// straight is how much faster than its pace somebody runs at most: people run ahead,
	// and what jumps to and fro in a crowd is several of them.
	straight = 1.3
	// paceSamples is how far to either side the pace looks, in sampling intervals.
	paceSamples = 2
)

// spot is an object of a sample.
type trailPoint struct {
	at float64
	*object
}

// trail is one object through the samples, at most one spot in each.
type trail []trailPoint

// follower follows objects through samples that come one by one.
type follower struct {
	linker evidence.Linker
	// trails are by the numbers of the objects. They reach as far back as is looked at.
	trails map[int]trail
	// waiting are the samples that those to come may still tell of.
	waiting []numbered
}

// numbered is a sample with the numbers of its objects.
type numbered struct {
	observation
	numbers []int
}

// sight is how many intervals before and after a sample those may be that tell of it, as
// far as it is followed.
const horizon = (carried + 1) * evidence.TrackGap

// follow says how the objects of sightings move, and how people hold themselves.
func follow(all iter.Seq[observation], ev evidence.Evidence, cal Calibration) iter.Seq[observation] {
	return func(yield func(observation) bool) {
		f := follower{trails: map[int]trail{}, linker: evidence.Linker{
			IntervalS: ev.IntervalS, Aspect: ev.AspectRatio(), Keep: cal.Keep, SameKind: func(_, _ evidence.Object) bool { return true },
		}}
		for s := range all {
			f.take(s)
			for s.at-f.waiting[0].at > horizon*f.linker.IntervalS {
				if !yield(f.next()) {
					return
				}
			}
		}
		for len(f.waiting) > 0 {
			if !yield(f.next()) {
				return
			}
		}
	}
}

// take goes on to the next sample.
func (f *follower) take(s observation) {
	objects := make([]*evidence.Object, len(s.objects))
	for k := range s.objects {
		objects[k] = &s.objects[k].Object
	}
	numbers := f.linker.Link(s.at, s.shades, objects, s.others)
	for k := range s.objects {
		o := &s.objects[k]
		if b := (body{box: o.Box, joints: o.Keypoints}); len(o.Keypoints) == evidence.NumKeypoints && b.height() > 0 {
			o.stance = stanceOf(b, f.linker.Aspect)
		}
		if n := numbers[k]; n >= 0 {
			f.trails[n] = append(f.trails[n], trailPoint{s.at, o})
		}
	}
	f.waiting = append(f.waiting, numbered{s, numbers})
}

// next is the first sample that waits, told of.
func (f *follower) next() observation {
	s := f.waiting[0]
	f.waiting = f.waiting[1:]
	told := slices.Clone(s.objects)
	for k, n := range s.numbers {
		if n < 0 {
			continue
		}
		t := f.trails[n]
		for s.at-t[0].at > horizon*f.linker.IntervalS {
			t = t[1:]
		}
		i := slices.IndexFunc(t, func(o trailPoint) bool { return o.at == s.at })
		told[k].motion, told[k].stance = t.motion(i, f.linker.IntervalS, f.linker.Aspect), t.stance(i)
		if f.trails[n] = t; i == len(t)-1 {
			delete(f.trails, n) // what came no more till now comes no more
		}
	}
	s.objects = told
	return s.observation
}

// motion follows a trail from its spot i to both sides.
func (t trail) motion(i int, intervalS, aspect float64) motion {
	before, after := t.steps(i, -1, intervalS, aspect), t.steps(i, 1, intervalS, aspect)
	sides := min(len(before.speeds), 1) + min(len(after.speeds), 1)
	if sides == 0 {
		return motion{}
	}
	way := evidence.Distance(before.last.Scene, after.last.Scene, aspect)
	return motion{
		speed: (before.next() + after.next()) / float64(sides), pace: way / (after.last.at - before.last.at), known: true,
		still: before.frozen() >= 2 || after.frozen() >= 2 || before.frozen() >= 1 && after.frozen() >= 1,
	}
}

// steps are those of an object to one side.
type steps struct {
	// speeds are in heights a second, the nearest step first.
	speeds []float64
	// last is the object where it was followed to.
	last trailPoint
}

func (t trail) steps(i, by int, intervalS, aspect float64) steps {
	s := steps{last: t[i]}
	from := s.last.at
	for i += by; i >= 0 && i < len(t); i += by {
		if math.Abs(t[i].at-from) > (paceSamples+.5)*intervalS || t[i].Segment != s.last.Segment {
			break
		}
		s.speeds = append(s.speeds, evidence.Distance(s.last.Scene, t[i].Scene, aspect)/math.Abs(t[i].at-s.last.at))
		s.last = t[i]
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

// moving judges by the way of the box. What a camera does is taken out, as the pictures tell it.
// What was not followed, and scores over threshold, is untold; in a still picture the stride tells.
func moving(g query.Movement, threshold, aspect float64) condition {
	return perObject(func(o object) fit {
		switch m := o.motion; {
		case !m.known:
			return fit{Probability: .05, Unknown: o.Score >= threshold}
		case m.still:
			return stillGait(g, o, aspect)
		case g == query.Moving:
			return fit{Probability: interpolate(movingCurve, m.pace)}
		case g == query.Running:
			return fit{Probability: interpolate(runningCurve, min(m.speed, straight*m.pace))}
		default:
			return fit{Probability: interpolate(walkingCurve, m.pace)}
		}
	})
}

// strideCurve is the probability that a standing body walks, by the way between its
// ankles in lengths of its legs.
var strideCurve = []Point{{0, .05}, {.15, .12}, {.25, .40}, {.35, .68}, {.7, .72}, {1, .40}, {1.5, .10}}

// runningStride is how far apart the feet of one who runs are at least for a moment.
const runningStride = .5

// pictured judges what a still picture shows of a gait.
func stillGait(g query.Movement, o object, aspect float64) fit {
	b := body{box: o.Box, joints: o.Keypoints}
	switch {
	case g == query.Moving || len(o.Keypoints) != evidence.NumKeypoints || !o.stance.upright:
		return fit{Probability: .05, Unknown: true}
	case o.stance.stands < .5:
		return fit{Probability: .05}
	}
	hips, ok := b.mean(leftHip, rightHip)
	if !ok || !b.seen(leftAnkle, rightAnkle) {
		return fit{Probability: .05, Unknown: true}
	}
	l, r := b.joints[leftAnkle], b.joints[rightAnkle]
	leg := max(l.Y, r.Y) - hips
	if !(leg > 0) {
		return fit{Probability: .05, Unknown: true}
	}
	apart := math.Hypot((l.X-r.X)*aspect, l.Y-r.Y) / leg
	if g == query.Running {
		return fit{Probability: .05, Unknown: apart > runningStride}
	}
	return fit{Probability: interpolate(strideCurve, apart)}
}
