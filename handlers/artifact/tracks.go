package artifact

import (
	"cmp"
	"slices"
	"sort"

	"vqa/domain/answer"
	"vqa/domain/evidence"
)

// tracksOf are the objects that are shown: those of the classes of the question, in the
// samples in which they are over the threshold.
func tracksOf(in Input) []answer.Track {
	rules := in.Calibration
	rules.Keep = rules.Threshold
	return answer.Tracks(in.Evidence, rules, in.Classes)
}

// sightsOf are what is shown of each sample that shows something, in the order of time,
// the best of a sample first.
func sightsOf(tracks []answer.Track) [][]answer.TrackPoint {
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

// sightAt is where an object is at a time: between two sights its box moves evenly, before
// the first and after the last it stays for half an interval.
func sightAt(t answer.Track, atS, intervalS float64) (answer.TrackPoint, bool) {
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
