package artifact

import (
	"cmp"
	"slices"
	"sort"

	"vqa/domain/answer"
	"vqa/domain/evidence"
)

// tracksOf returns the objects to show: those of the classes of the question, in the samples
// in which they are more likely there than not.
func tracksOf(in Input) []answer.Track {
	tracks := answer.Tracks(in.Evidence, in.Calibration, in.Classes)
	for i := range tracks {
		tracks[i].Points = slices.DeleteFunc(tracks[i].Points, func(p answer.TrackPoint) bool { return p.P < in.Calibration.Yes })
	}
	return slices.DeleteFunc(tracks, func(t answer.Track) bool { return len(t.Points) == 0 })
}

// pointsBySample returns the objects of each sample that shows any, in order of time. Within a
// sample the object with the highest score comes first.
func pointsBySample(tracks []answer.Track) [][]answer.TrackPoint {
	var all []answer.TrackPoint
	for _, t := range tracks {
		all = append(all, t.Points...)
	}
	slices.SortStableFunc(all, func(a, b answer.TrackPoint) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(b.Score, a.Score))
	})
	var samples [][]answer.TrackPoint
	for i, s := range all {
		if i == 0 || s.At != all[i-1].At {
			samples = append(samples, nil)
		}
		samples[len(samples)-1] = append(samples[len(samples)-1], s)
	}
	return samples
}

// pointAt returns the place of an object at a time. Between two samples its box moves evenly.
// Before the first sample and after the last one it stays for half an interval.
func pointAt(t answer.Track, atS, intervalS float64) (answer.TrackPoint, bool) {
	next := sort.Search(len(t.Points), func(i int) bool { return t.Points[i].At > atS })
	if next == 0 {
		first := t.Points[0]
		return first, first.At-atS <= intervalS/2
	}
	before := t.Points[next-1]
	if next == len(t.Points) {
		return before, atS-before.At <= intervalS/2
	}
	after := t.Points[next]
	share := (atS - before.At) / (after.At - before.At)
	between := func(a, b float64) float64 { return a + (b-a)*share }
	now := before
	if share > 0.5 {
		now.Score, now.Term = after.Score, after.Term
	}
	now.Box = evidence.Box{
		X1: between(before.Box.X1, after.Box.X1), Y1: between(before.Box.Y1, after.Box.Y1),
		X2: between(before.Box.X2, after.Box.X2), Y2: between(before.Box.Y2, after.Box.Y2),
	}
	return now, true
}
