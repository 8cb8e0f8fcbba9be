package answer

import (
	"cmp"
	"math"
	"slices"

	"vqa/domain/evidence"
)

// MotionGaps returns the gaps in which an object of some terms, detected at both ends, may
// jump or fall. They are in the order of time and without repetition. When there are more
// than most, those are returned in which objects move up and down most, by their height.
func MotionGaps(ev evidence.Evidence, terms []string, cal Calibration, most int) []Gap {
	ev = withDefaults(ev)
	stir := map[Gap]float64{}
	for _, t := range tracksOf(ev, cal, terms, func(*TrackPoint, evidence.Detection) {}) {
		if !t.Trusted {
			continue
		}
		for i := 1; i < len(t.Points); i++ {
			e := Gap{t.Points[i-1].At, t.Points[i].At}
			if neighbors(e.AfterS, e.BeforeS, ev.IntervalS) {
				stir[e] = max(stir[e], t.bend(i-1), t.bend(i))
			}
		}
	}
	return strongestGaps(stir, most)
}

// bend is the vertical distance of point i from the line between its neighbors, by its
// height.
func (t Track) bend(i int) float64 {
	b, c := t.Points[max(i-1, 0)].Box, t.Points[min(i+1, len(t.Points)-1)].Box
	s := t.Points[i].Box
	height := max(s.Y2-s.Y1, b.Y2-b.Y1, c.Y2-c.Y1)
	if !(height > 0) {
		return 0
	}
	return math.Abs(s.Y1+s.Y2-(b.Y1+b.Y2+c.Y1+c.Y2)/2) / 2 / height
}

// strongestGaps returns the gaps with the greatest weight, at most most, in the order of
// time.
func strongestGaps(weight map[Gap]float64, most int) []Gap {
	inTime := func(a, b Gap) int { return cmp.Or(cmp.Compare(a.AfterS, b.AfterS), cmp.Compare(a.BeforeS, b.BeforeS)) }
	edges := make([]Gap, 0, len(weight))
	for e := range weight {
		edges = append(edges, e)
	}
	slices.SortFunc(edges, inTime)
	if len(edges) > most {
		slices.SortStableFunc(edges, func(a, b Gap) int { return cmp.Compare(weight[b], weight[a]) })
		edges = edges[:max(0, most)]
		slices.SortFunc(edges, inTime)
	}
	return edges
}
