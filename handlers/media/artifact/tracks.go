package artifact

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"vqa/domain/answer"
)

const (
	// sameObject is the intersection over union from which boxes of two classes are one
	// object, read twice.
	sameObject = 0.45
	// sameTrack is the least likeness of the boxes of one object in neighbouring samples.
	sameTrack = 0.1
	// reach is how far an object may go between two samples, in sizes of its box, when its
	// boxes do not touch.
	reach = 1.5
	// sizes is by how much the area of its box may change meanwhile.
	sizes = 2.5
	// gap is how many intervals a track may go without a sight.
	gap = 2.1
)

// sight is one detection that is shown.
type sight struct {
	at    float64
	term  int // in Evidence.Terms
	box   answer.Box
	score float64
}

// track is one object through time, its sights in order.
type track struct{ sights []sight }

// sightsOf are the detections that are shown of each frame, best first: those of the
// classes over the threshold, each object once.
func sightsOf(in Input) [][]sight {
	shown := map[int]bool{}
	for i, term := range in.Evidence.Terms {
		shown[i] = slices.Contains(in.Classes, term)
	}
	frames := make([][]sight, len(in.Evidence.Frames))
	for i, f := range in.Evidence.Frames {
		for _, d := range f.Detections {
			if shown[d.Term] && d.Score >= in.Calibration.Threshold {
				frames[i] = append(frames[i], sight{f.At, d.Term, clip(d.Box), d.Score})
			}
		}
		slices.SortStableFunc(frames[i], func(a, b sight) int { return cmp.Compare(b.score, a.score) })
		frames[i] = once(frames[i])
	}
	return frames
}

// once drops the weaker of two classes at one place.
func once(sights []sight) []sight {
	var kept []sight
	for _, s := range sights {
		again := slices.ContainsFunc(kept, func(k sight) bool { return k.term != s.term && overlap(k.box, s.box) >= sameObject })
		if !again {
			kept = append(kept, s)
		}
	}
	return kept
}

// tracksOf joins the sights of neighbouring samples, the most alike first.
func tracksOf(frames [][]sight, intervalS float64) []*track {
	var all, live []*track
	for _, sights := range frames {
		if len(sights) == 0 {
			continue
		}
		at := sights[0].at
		live = slices.DeleteFunc(live, func(t *track) bool { return at-t.last().at > gap*intervalS })
		for i, owner := range match(live, sights) {
			if owner == nil {
				owner = &track{}
				all, live = append(all, owner), append(live, owner)
			}
			owner.sights = append(owner.sights, sights[i])
		}
	}
	return all
}

// match finds the track that each sight goes on, or nil.
func match(live []*track, sights []sight) []*track {
	type pair struct {
		track, sight int
		likeness     float64
	}
	var pairs []pair
	for t := range live {
		for s := range sights {
			if l := likeness(live[t].last(), sights[s]); l > 0 {
				pairs = append(pairs, pair{t, s, l})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(b.likeness, a.likeness) })
	owners, taken := make([]*track, len(sights)), make([]bool, len(live))
	for _, p := range pairs {
		if owners[p.sight] == nil && !taken[p.track] {
			owners[p.sight], taken[p.track] = live[p.track], true
		}
	}
	return owners
}

// likeness is that of two sights of one object: the overlap of their boxes or, below any
// overlap, how near two boxes of about one size are. 0 is no likeness.
func likeness(a, b sight) float64 {
	if a.term != b.term {
		return 0
	}
	if o := overlap(a.box, b.box); o >= sameTrack {
		return o
	}
	ratio := area(a.box) / area(b.box)
	size := max(a.box.X2-a.box.X1, a.box.Y2-a.box.Y1, b.box.X2-b.box.X1, b.box.Y2-b.box.Y1)
	far := hypot(a.box.X1+a.box.X2-b.box.X1-b.box.X2, a.box.Y1+a.box.Y2-b.box.Y1-b.box.Y2) / 2 / size
	if !(far < reach) || !(ratio < sizes) || !(ratio > 1/sizes) {
		return 0
	}
	return sameTrack * (1 - far/reach)
}

func (t *track) last() sight { return t.sights[len(t.sights)-1] }

// at is where the object is at a time: between two sights its box moves evenly, before
// the first and after the last it stays for half an interval.
func (t *track) at(s, intervalS float64) (sight, bool) {
	next := sort.Search(len(t.sights), func(i int) bool { return t.sights[i].at > s })
	if next == 0 {
		first := t.sights[0]
		return first, first.at-s <= intervalS/2
	}
	before := t.sights[next-1]
	if next == len(t.sights) {
		return before, s-before.at <= intervalS/2
	}
	after := t.sights[next]
	share := (s - before.at) / (after.at - before.at)
	between := func(a, b float64) float64 { return a + (b-a)*share }
	now := before
	if share > 0.5 {
		now.score = after.score
	}
	now.box = answer.Box{
		X1: between(before.box.X1, after.box.X1), Y1: between(before.box.Y1, after.box.Y1),
		X2: between(before.box.X2, after.box.X2), Y2: between(before.box.Y2, after.box.Y2),
	}
	return now, true
}

func clip(b answer.Box) answer.Box {
	in := func(x float64) float64 {
		if math.IsNaN(x) {
			return 0
		}
		return min(max(x, 0), 1)
	}
	return answer.Box{X1: in(b.X1), Y1: in(b.Y1), X2: in(b.X2), Y2: in(b.Y2)}
}

func area(b answer.Box) float64 { return max(0, b.X2-b.X1) * max(0, b.Y2-b.Y1) }

// overlap is intersection over union, 0 for boxes without an area.
func overlap(a, b answer.Box) float64 {
	both := area(answer.Box{X1: max(a.X1, b.X1), Y1: max(a.Y1, b.Y1), X2: min(a.X2, b.X2), Y2: min(a.Y2, b.Y2)})
	if !(both > 0) {
		return 0
	}
	return both / (area(a) + area(b) - both)
}
