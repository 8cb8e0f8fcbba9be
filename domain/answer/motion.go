package answer

import (
	"iter"
	"math"
	"slices"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

// motion is the movement of an object, in heights of its box per second.
type motion struct {
	// speed is the mean of the speeds to its points before and after.
	speed float64
	// pace is the distance between its places a second before and a second after, per
	// second. An object that sways on the spot has a pace near 0.
	pace float64
	// known is false when the object was not followed to either side, or when the movement
	// of the camera is unknown.
	known bool
	// still is true for an object in a still picture: it does not even show the noise of a
	// camera.
	still bool
}

const (
	// frozen is the speed, in heights per second, below which not even the noise of a
	// camera shows.
	frozen = .001
	// straight is the largest ratio of speed to pace of a runner. People run straight
	// ahead; in a crowd, an object that jumps to and fro is several people.
	straight = 1.3
	// paceSamples is the reach of the pace to either side, in sampling intervals.
	paceSamples = 2
)

// trailPoint is an object in one sample.
type trailPoint struct {
	at float64
	*object
}

// trail is one object through the samples, at most one point in each.
type trail []trailPoint

// follower follows objects through samples that arrive one by one.
type follower struct {
	linker evidence.Linker
	// trails are the trails by object number. They reach back as far as horizon.
	trails map[int]trail
	// waiting are the samples whose objects later samples may still describe.
	waiting []numbered
}

// numbered is a sample with the numbers of its objects.
type numbered struct {
	observation
	numbers []int
}

// horizon is the largest distance, in sampling intervals, of a sample that still says
// something about another one on the same trail.
const horizon = (carried + 1) * evidence.TrackGap

// follow adds to the objects of observations how they move, and to people their stance.
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

// take adds the next sample.
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

// next returns the first waiting sample with motion and stance of its objects.
func (f *follower) next() observation {
	s := f.waiting[0]
	f.waiting = f.waiting[1:]
	objects := slices.Clone(s.objects)
	for k, n := range s.numbers {
		if n < 0 {
			continue
		}
		t := f.trails[n]
		for s.at-t[0].at > horizon*f.linker.IntervalS {
			t = t[1:]
		}
		i := slices.IndexFunc(t, func(o trailPoint) bool { return o.at == s.at })
		objects[k].motion, objects[k].stance = t.motion(i, f.linker.IntervalS, f.linker.Aspect), t.stance(i)
		if f.trails[n] = t; i == len(t)-1 {
			delete(f.trails, n) // the trail has ended: no later sample shows the object
		}
	}
	s.objects = objects
	return s.observation
}

// motion measures the motion at point i of a trail, to both sides.
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

// steps are the steps of an object to one side, from sample to sample.
type steps struct {
	// speeds are in heights per second, the nearest step first.
	speeds []float64
	// last is the farthest point that was reached.
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

// frozen is the number of steps without any movement, from the nearest step on.
func (s steps) frozen() int {
	for n, speed := range s.speeds {
		if speed >= frozen {
			return n
		}
	}
	return len(s.speeds)
}

// These curves are the probabilities of movements by speed, in heights per second. Seen
// from the side, a person walks at about 0.8 and runs from 1.5 on; seen from the front,
// slower. An animal on four legs is about as long as it is high.
var (
	walkingCurve = []Point{{0, .03}, {.12, .07}, {.18, .30}, {.24, .56}, {.35, .78}, {.80, .85}, {1.3, .60}, {2, .15}, {3, .05}}
	movingCurve  = []Point{{0, .02}, {.05, .08}, {.10, .35}, {.18, .75}, {.5, .93}}
	runningCurve = []Point{{0, .02}, {.6, .06}, {1.0, .30}, {1.4, .70}, {2.2, .88}, {4, .93}}
)

// moving is the condition that an object moves in a given way, measured by the track of its
// box. The movement of the camera is taken out as far as the pictures show it. The result
// is unknown for an object that scores at least threshold and was not followed. In a still
// picture the stride decides.
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

// strideCurve is the probability that a standing body walks, by the distance between its
// ankles in leg lengths.
var strideCurve = []Point{{0, .05}, {.15, .12}, {.25, .40}, {.35, .68}, {.7, .72}, {1, .40}, {1.5, .10}}

// runningStride is the distance between the ankles, in leg lengths, that a runner exceeds
// at some moment of each step.
const runningStride = .5

// stillGait is the fit of a movement to a body in a still picture.
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
