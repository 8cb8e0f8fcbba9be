package answer

import (
	"cmp"
	"math"
	"slices"

	"vqa/domain/evidence"
)

// Stirs are the times between neighbouring samples in which a thing of some terms, seen in
// both, may do what is over within moments: in the order of time and without repetition.
// Of more than most, those are returned in which things go up and down most, by their height.
func Stirs(ev evidence.Evidence, terms []string, cal Calibration, most int) []Edge {
	ev = sane(ev)
	stir := map[Edge]float64{}
	for _, t := range tracksOf(ev, cal, terms, func(*Sight, evidence.Detection) {}) {
		if !t.Trusted {
			continue
		}
		for i := 1; i < len(t.Sights); i++ {
			e := Edge{t.Sights[i-1].At, t.Sights[i].At}
			if neighbours(e.AfterS, e.BeforeS, ev.IntervalS) {
				stir[e] = max(stir[e], t.bend(i-1), t.bend(i))
			}
		}
	}
	return strongestEdges(stir, most)
}

// bend is how far sight i is over or under the line between its neighbours, by its height.
func (t Track) bend(i int) float64 {
	b, c := t.Sights[max(i-1, 0)].Box, t.Sights[min(i+1, len(t.Sights)-1)].Box
	s := t.Sights[i].Box
	height := max(s.Y2-s.Y1, b.Y2-b.Y1, c.Y2-c.Y1)
	if !(height > 0) {
		return 0
	}
	return math.Abs(s.Y1+s.Y2-(b.Y1+b.Y2+c.Y1+c.Y2)/2) / 2 / height
}

// strongestEdges are the most edges of the greatest weight, in the order of time.
func strongestEdges(weight map[Edge]float64, most int) []Edge {
	inTime := func(a, b Edge) int { return cmp.Or(cmp.Compare(a.AfterS, b.AfterS), cmp.Compare(a.BeforeS, b.BeforeS)) }
	edges := make([]Edge, 0, len(weight))
	for e := range weight {
		edges = append(edges, e)
	}
	slices.SortFunc(edges, inTime)
	if len(edges) > most {
		slices.SortStableFunc(edges, func(a, b Edge) int { return cmp.Compare(weight[b], weight[a]) })
		edges = edges[:max(0, most)]
		slices.SortFunc(edges, inTime)
	}
	return edges
}
