package artifact

import (
	"cmp"
	"slices"
	"sort"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
)

// point is an object of the question in one frame.
type point struct {
	atS float64
	box evidence.Box
	// p is the probability that it is what term names.
	p    float64
	term string
}

// track is an object through the video, with at least one point, in the order of time.
type track []point

// tracksOf returns the objects to show: those that an answer follows, in the frames in which they are more
// likely there than not.
func tracksOf(in Input) []track {
	things := make([]query.Thing, len(in.Terms))
	for i, term := range in.Terms {
		things[i].Term = term
	}
	o := answer.Observe(in.Evidence, in.Calibration, things...)
	var tracks []track
	for i, term := range in.Terms {
		for _, found := range o.Tracks(i) {
			var t track
			for k := range found.Len() {
				if p := found.P(k); p >= in.Calibration.Yes {
					t = append(t, point{found.At(k), found.Box(k), min(p, in.Calibration.CapYes), term})
				}
			}
			if t != nil {
				tracks = append(tracks, t)
			}
		}
	}
	return tracks
}

// pointsBySample returns the objects of each sample that shows any, in order of time. Within a sample the
// most probable object comes first.
func pointsBySample(tracks []track) [][]point {
	var all []point
	for _, t := range tracks {
		all = append(all, t...)
	}
	slices.SortStableFunc(all, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.atS, b.atS), cmp.Compare(b.p, a.p))
	})
	var samples [][]point
	for i, s := range all {
		if i == 0 || s.atS != all[i-1].atS {
			samples = append(samples, nil)
		}
		samples[len(samples)-1] = append(samples[len(samples)-1], s)
	}
	return samples
}

// pointAt returns the place of an object at a time. Between two samples its box moves evenly.
// Before the first sample and after the last one it stays for half an interval.
func pointAt(t track, atS, intervalS float64) (point, bool) {
	next := sort.Search(len(t), func(i int) bool { return t[i].atS > atS })
	if next == 0 {
		return t[0], t[0].atS-atS <= intervalS/2
	}
	before := t[next-1]
	if next == len(t) {
		return before, atS-before.atS <= intervalS/2
	}
	after := t[next]
	share := (atS - before.atS) / (after.atS - before.atS)
	between := func(a, b float64) float64 { return a + (b-a)*share }
	now := before
	if share > 0.5 {
		now.p = after.p
	}
	now.box = evidence.Box{
		X1: between(before.box.X1, after.box.X1), Y1: between(before.box.Y1, after.box.Y1),
		X2: between(before.box.X2, after.box.X2), Y2: between(before.box.Y2, after.box.Y2),
	}
	return now, true
}
