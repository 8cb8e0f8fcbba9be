package answer

import (
	"cmp"
	"math"
	"slices"

	"vqa/domain/answer/predicate"
	"vqa/domain/evidence"
	"vqa/domain/query"
)

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
	things := make([]query.Thing, len(terms))
	for i := range terms {
		things[i].Term = terms[i]
	}
	o := Observe(ev, cal, things...)
	for i := range things {
		for _, t := range o.Tracks(i) {
			if t.Highest < cal.Yes {
				continue
			}
			around(t.First(), 1, false)
			around(t.Last(), 1, true)
			for k := 1; k < t.Len(); k++ {
				around(t.At(k-1), max(bend(t.Track, k-1), bend(t.Track, k)), true)
			}
		}
	}
	return strongestGaps(stir, most)
}

// bend is the vertical distance of point k from the line between its neighbors, by its height.
func bend(t predicate.Track, k int) float64 {
	b, c, s := t.Box(max(k-1, 0)), t.Box(min(k+1, t.Len()-1)), t.Box(k)
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
