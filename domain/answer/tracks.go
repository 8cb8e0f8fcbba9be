package answer

import (
	"cmp"
	"math"
	"slices"

	"vqa/domain/answer/predicate"
	"vqa/domain/evidence"
)

// TrackPoint is one object in one frame.
type TrackPoint struct {
	// At is the time of the frame in seconds from the start of the video.
	At float64
	// Term, Score and Box are those of the detection. The box is cut to the frame.
	Term  int
	Score float64
	Box   evidence.Box
	// P is the probability of the class at this score.
	P float64
	// Stance is how a person holds the body, as far as the keypoints show it.
	Stance predicate.Stance
}

// Track is one object through a video.
type Track struct {
	// Points are ordered by At, at least one, at most one in a frame. Their boxes lie within the frame.
	Points []TrackPoint
	// Best is the largest probability that lasts for a second: that of an answer about this object.
	Best float64
	// Highest is the largest probability of one point.
	Highest float64
	// Trusted is true when an answer would say that the object is there.
	Trusted bool
}

// Tracks links the detections of some classes to objects, in the order of their first detections.
// Detections of different classes at one place are one object, of the class that scores best there.
// Detections below Keep are not followed.
func Tracks(ev evidence.Evidence, cal Calibration, classes []string) []Track {
	ev = withDefaults(ev)
	mine := make([]bool, len(ev.Terms))
	for i, term := range ev.Terms {
		mine[i] = slices.Contains(classes, term)
	}
	s := &predicate.Scene{IntervalS: ev.IntervalS, Aspect: ev.AspectRatio()}
	var out []Track
	var frames [][]int // of the points of each track
	var camera evidence.Camera
	linker := cal.linker(s.Aspect)
	for i, f := range ev.Timeline() {
		f = f.Load(true)
		all := clean(f.Detections, len(ev.Terms))
		view := camera.Next(f.At, f.Shades, boxesOf(all, cal.Keep), 2*ev.IntervalS)
		if view.Cut {
			linker.Cut()
		}
		s.Times = append(s.Times, f.At)
		found, places := placesOf(all, mine, view, cal)
		for k, n := range linker.Link(f.At, places) {
			if n < 0 {
				continue
			}
			if n == len(out) {
				out, frames = append(out, Track{}), append(frames, nil)
			}
			d := found[k]
			out[n].Points = append(out[n].Points, TrackPoint{
				At: f.At, Term: d.Term, Score: d.Score, Box: d.Box, P: cal.Probability(ev.Terms[d.Term], d.Score), Stance: predicate.StanceOf(d, s.Aspect),
			})
			frames[n] = append(frames[n], i)
		}
	}
	a := newAxis(s, ev.DurationS)
	for n := range out {
		out[n].Best = a.sustained(out[n].Points, frames[n], cal)
		for _, p := range out[n].Points {
			out[n].Highest = max(out[n].Highest, p.P)
		}
		out[n].Trusted = out[n].Best >= cal.Yes
	}
	return out
}

// sustained is the best probability of a track over one second.
func (a axis) sustained(points []TrackPoint, frames []int, cal Calibration) float64 {
	first, last := frames[0], frames[len(frames)-1]
	for width := 0.0; (first > 0 || last+1 < len(a.cells)) && width < cal.SecondS; width += 2 * a.IntervalS {
		first, last = max(0, first-1), min(len(a.cells)-1, last+1) // the frames without it count, too
	}
	p := make([]float64, last-first+1)
	for k, f := range frames {
		p[f-first] = points[k].P
	}
	return axis{a.Scene, a.cells[first : last+1], 0}.best(p, cal.SecondS)
}

// placesOf returns the objects of a frame, the best first, and their places in the scene.
func placesOf(all []evidence.Detection, mine []bool, view evidence.View, cal Calibration) ([]evidence.Detection, []evidence.Place) {
	var kept []evidence.Detection
	var places []evidence.Place
	for _, d := range all {
		if !mine[d.Term] || d.Score < cal.Keep {
			continue
		}
		again := slices.IndexFunc(kept, func(k evidence.Detection) bool { return evidence.IoU(k.Box, d.Box) >= sameObject })
		if again >= 0 {
			places[again].Terms = append(places[again].Terms, d.Term)
			continue
		}
		kept, places = append(kept, d), append(places, evidence.Place{Box: view.In(d.Box), Terms: []int{d.Term}})
	}
	return kept, places
}

// Term is the class with the largest sum of scores over the track.
func (t Track) Term() int {
	votes := map[int]float64{}
	for _, s := range t.Points {
		votes[s.Term] += s.Score
	}
	best := t.Points[0].Term
	for term, vote := range votes {
		if vote > votes[best] || vote == votes[best] && term < best {
			best = term
		}
	}
	return best
}

// Gap is the time between two neighboring samples, in seconds. Evidence.Fine may hold frames inside of
// it.
type Gap struct{ AfterS, BeforeS float64 }

// EdgeGaps returns the gaps in which one of some terms appears or disappears. They are in the order of
// time and without repetition. When there are more than most, those of the best scores are returned.
func EdgeGaps(ev evidence.Evidence, terms []string, cal Calibration, most int) []Gap {
	ev = withDefaults(ev)
	ev.Fine = nil
	s := &predicate.Scene{IntervalS: ev.IntervalS, Aspect: ev.AspectRatio()}
	frames := ev.Timeline()
	series := map[int][]float64{}
	for i, f := range frames {
		s.Times = append(s.Times, f.At)
		for _, d := range clean(f.Load(false).Detections, len(ev.Terms)) {
			if d.Score < cal.Keep || !slices.Contains(terms, ev.Terms[d.Term]) {
				continue
			}
			if series[d.Term] == nil {
				series[d.Term] = slices.Repeat([]float64{cal.Floor}, len(frames))
			}
			series[d.Term][i] = max(series[d.Term][i], sigmoid(cal.logOdds(ev.Terms[d.Term], d.Score, 0)))
		}
	}
	e := trial{axis: newAxis(s, ev.DurationS), cal: cal}
	best := map[Gap]float64{}
	for _, p := range series {
		for _, edge := range e.spans(p, cal.Lift, cal.Stay) {
			highest := slices.Max(p[edge.first : edge.last+1])
			if 2*highest < cal.Yes {
				continue
			}
			for _, i := range []int{edge.first, edge.last + 1} {
				if i > 0 && i < len(frames) && frames[i].At-frames[i-1].At <= 1.5*ev.IntervalS {
					g := Gap{frames[i-1].At, frames[i].At}
					best[g] = max(best[g], highest)
				}
			}
		}
	}
	return strongestGaps(best, most)
}

// MotionGaps returns the gaps in which an object of some terms is. They are in the order of time and
// without repetition. When there are more than most, those are returned in which objects begin, end, or
// move up and down most, by their height.
func MotionGaps(ev evidence.Evidence, terms []string, cal Calibration, most int) []Gap {
	ev = withDefaults(ev)
	ev.Fine = nil
	stir := map[Gap]float64{}
	frames := ev.Timeline()
	around := func(at float64, weight float64, after bool) {
		i, _ := slices.BinarySearchFunc(frames, at, func(f evidence.Frame, at float64) int { return cmp.Compare(f.At, at) })
		if !after {
			i--
		}
		if i >= 0 && i+1 < len(frames) && frames[i+1].At-frames[i].At <= 1.5*ev.IntervalS {
			g := Gap{frames[i].At, frames[i+1].At}
			stir[g] = max(stir[g], weight)
		}
	}
	for _, t := range Tracks(ev, cal, terms) {
		if t.Highest < cal.Yes {
			continue
		}
		around(t.Points[0].At, 1, false)
		around(t.Points[len(t.Points)-1].At, 1, true)
		for i := 1; i < len(t.Points); i++ {
			around(t.Points[i-1].At, max(t.bend(i-1), t.bend(i)), true)
		}
	}
	return strongestGaps(stir, most)
}

// bend is the vertical distance of point i from the line between its neighbors, by its height.
func (t Track) bend(i int) float64 {
	b, c := t.Points[max(i-1, 0)].Box, t.Points[min(i+1, len(t.Points)-1)].Box
	s := t.Points[i].Box
	height := max(s.Y2-s.Y1, b.Y2-b.Y1, c.Y2-c.Y1)
	if !(height > 0) {
		return 0
	}
	return math.Abs(s.Y1+s.Y2-(b.Y1+b.Y2+c.Y1+c.Y2)/2) / 2 / height
}

// strongestGaps returns the gaps with the greatest weight, at most most, in the order of time.
func strongestGaps(weight map[Gap]float64, most int) []Gap {
	inTime := func(a, b Gap) int { return cmp.Or(cmp.Compare(a.AfterS, b.AfterS), cmp.Compare(a.BeforeS, b.BeforeS)) }
	gaps := make([]Gap, 0, len(weight))
	for g := range weight {
		gaps = append(gaps, g)
	}
	slices.SortFunc(gaps, inTime)
	if len(gaps) > most {
		slices.SortStableFunc(gaps, func(a, b Gap) int { return cmp.Compare(weight[b], weight[a]) })
		gaps = gaps[:max(0, most)]
		slices.SortFunc(gaps, inTime)
	}
	return gaps
}
