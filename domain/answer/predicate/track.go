package predicate

import (
	"cmp"
	"math"
	"slices"

	"vqa/domain/evidence"
)

// Scene is what the tracks of a video have in common.
type Scene struct {
	// Times are those of the frames, in seconds, and Views where the camera looks in each.
	Times []float64
	Views []evidence.View
	// IntervalS is the sampling interval in seconds, Aspect the width of a frame over its height.
	IntervalS, Aspect float64
}

// Object is an object in a frame. Its numbers are short, because hours of a crowd have millions.
type Object struct {
	// Frame is an index in Scene.Times.
	Frame int32
	// X1 to Y2 are the box, within 0..1.
	X1, Y1, X2, Y2 float32
	// Score is the raw score, P the probability that it is the thing.
	Score, P float32
}

// Box is the place in the picture.
func (o Object) Box() evidence.Box {
	return evidence.Box{X1: float64(o.X1), Y1: float64(o.Y1), X2: float64(o.X2), Y2: float64(o.Y2)}
}

// Track is one object through the frames. Its points are in the order of time, at most one in a frame.
type Track struct {
	*Scene
	// Objects are those of the thing in all frames, Readings what the predicate read of each.
	Objects  []Object
	Readings []Reading
	// Index are the objects of this track, at least one. All are all tracks of the thing.
	Index []int32
	All   All
}

// All are the tracks of a thing, in the order of their first and of their last points.
type All struct{ begin, end [][]int32 }

// AllOf prepares tracks that are in the order of their first points.
func AllOf(objects []Object, tracks [][]int32) All {
	end := slices.Clone(tracks)
	slices.SortStableFunc(end, func(a, b []int32) int {
		return cmp.Compare(objects[a[len(a)-1]].Frame, objects[b[len(b)-1]].Frame)
	})
	return All{tracks, end}
}

// Len is the number of points.
func (t Track) Len() int { return len(t.Index) }

// At is the time of a point, in seconds.
func (t Track) At(k int) float64 { return t.Times[t.object(k).Frame] }

// Box is the place of a point in the picture.
func (t Track) Box(k int) evidence.Box { return t.object(k).Box() }

// Reading is that of a point.
func (t Track) Reading(k int) Reading { return t.Readings[t.Index[k]] }

// First is the time of the first point, in seconds.
func (t Track) First() float64 { return t.At(0) }

// Last is the time of the last point, in seconds.
func (t Track) Last() float64 { return t.At(t.Len() - 1) }

func (t Track) object(k int) Object      { return t.Objects[t.Index[k]] }
func (t Track) view(k int) evidence.View { return t.Views[t.object(k).Frame] }

func (t Track) height(k int) float64 {
	o := t.object(k)
	return float64(o.Y2) - float64(o.Y1)
}

// within returns the first and the last point at most s seconds from point k.
func (t Track) within(k int, s float64) (first, last int) {
	first, last = k, k
	for first > 0 && t.At(k)-t.At(first-1) <= s {
		first--
	}
	for last+1 < t.Len() && t.At(last+1)-t.At(k) <= s {
		last++
	}
	return first, last
}

// speed is the net speed from one point to another, in mean heights per second, without the movement of
// the camera. ok is false when that is not known.
func (t Track) speed(a, z int) (heights float64, ok bool) {
	seconds := t.At(z) - t.At(a)
	if !(seconds > 0) || t.view(a).Segment != t.view(z).Segment {
		return 0, false
	}
	h := 0.0
	for k := a; k <= z; k++ {
		h += t.height(k)
	}
	h /= float64(z - a + 1)
	from, to := t.view(a).In(t.Box(a)), t.view(z).In(t.Box(z))
	dx, dy := (to.X1+to.X2-from.X1-from.X2)/2*t.Aspect, (to.Y1+to.Y2-from.Y1-from.Y2)/2
	return math.Hypot(dx, dy) / max(h, 1e-3) / seconds, true
}

const (
	// pace is the time to either side over which a movement is measured, in seconds.
	pace = .8
	// frozen is the speed, in heights per second, below which not even the noise of a camera shows.
	frozen = .001
)

// moves sets out to what p says of the speed at each point. still says it for a still picture.
func (t Track) moves(out []float32, p func(k int, heights float64) float64, still func(k int) float32) {
	for k := range out {
		first, last := t.around(k)
		heights, ok := t.speed(first, last)
		switch {
		case len(t.Times) == 1:
			out[k] = still(k)
		case !ok:
			out[k] = Unknown
		case heights < frozen && t.stands(first, last):
			out[k] = still(k)
		default:
			out[k] = float32(p(k, heights))
		}
	}
}

// around returns the points pace before and after point k. At an end of the track it reaches as far to
// the other side.
func (t Track) around(k int) (first, last int) {
	first, last = t.within(k, pace)
	if first == 0 {
		_, last = t.within(0, max(2*pace-.5, t.At(last)-t.At(0)))
	}
	if last == t.Len()-1 {
		first, _ = t.within(last, max(2*pace-.5, t.At(last)-t.At(first)))
	}
	return first, last
}

// stands reports whether the box does not change at all.
func (t Track) stands(first, last int) bool {
	for k := first + 1; k <= last; k++ {
		if heights, ok := t.speed(k-1, k); !ok || heights > frozen {
			return false
		}
	}
	return true
}

// carriedS is the time for which a posture is kept while it cannot be seen, in seconds.
const carriedS = 2

// lasting returns an Along for readings of a posture: the mean of those within s seconds. When carried,
// the nearest within carriedS counts where there is none.
func lasting(s float64, carried bool) func(Track, []float32) {
	return func(t Track, out []float32) {
		for k := range out {
			first, last := t.within(k, s)
			sum, n := 0.0, 0
			for i := first; i <= last; i++ {
				if p := t.Reading(i)[0]; known(p) {
					sum, n = sum+float64(p), n+1
				}
			}
			switch {
			case n > 0:
				out[k] = float32(sum / float64(n))
			case carried:
				out[k] = t.nearest(k)
			default:
				out[k] = Unknown
			}
		}
	}
}

// nearest is the known reading nearest to point k.
func (t Track) nearest(k int) float32 {
	first, last := t.within(k, carriedS)
	for step := 1; k-step >= first || k+step <= last; step++ {
		for _, i := range []int{k - step, k + step} {
			if i >= first && i <= last && known(t.Reading(i)[0]) {
				return t.Reading(i)[0]
			}
		}
	}
	return Unknown
}

// surest returns the points with the best scores, at most most of them, spread over time: half of the
// track, at least three points.
func (t Track) surest(most int) []int {
	all := make([]int, t.Len())
	for k := range all {
		all[k] = k
	}
	slices.SortStableFunc(all, func(a, b int) int {
		switch x, y := t.object(a).Score, t.object(b).Score; {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	all = all[:min(len(all), max(3, len(all)/2))]
	slices.Sort(all)
	if len(all) <= most {
		return all
	}
	spread := make([]int, most)
	for i := range spread {
		spread[i] = all[i*(len(all)-1)/(most-1)]
	}
	return spread
}
