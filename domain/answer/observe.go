package answer

import (
	"cmp"
	"math"
	"slices"
)

// contained is the share of a box inside another from which both are one object.
const contained = .8

// sample is what one frame shows of one subject.
type sample struct {
	at float64
	// scores are the scores of the distinct objects, best first: raw, or what a
	// condition has left of it.
	scores []float64
	// raw is the raw score of the best object, for the vote against its rivals.
	raw float64
	// rivals are the best scores of other classes at the place of the best object,
	// by index in Evidence.Terms.
	rivals map[int]float64
}

func (s sample) best() float64 { return s.nth(1) }

// nth is the score of the kth best object, k > 0; 0 when there are fewer.
func (s sample) nth(k int) float64 {
	if len(s.scores) < k {
		return 0
	}
	return s.scores[k-1]
}

// subjectClasses are the classes of one subject.
type subjectClasses struct {
	// mine are the indices in Evidence.Terms that the model knows.
	mine map[int]bool
	// covers is true when seeing nothing means that there is nothing.
	covers bool
}

func classesOf(term string, ev Evidence, cal Calibration) subjectClasses {
	classes, ok := cal.Vocabulary.Lookup(term)
	c := subjectClasses{mine: map[int]bool{}, covers: cal.Vocabulary.Covers(term)}
	if !ok {
		classes, c.covers = []string{term}, true
	}
	for _, class := range classes {
		i := slices.Index(ev.Terms, class)
		if i >= 0 && i < len(ev.Known) && ev.Known[i] {
			c.mine[i] = true
		}
	}
	c.covers = c.covers && len(c.mine) == len(classes)
	return c
}

// observe gathers the samples of a subject. Each object scores what judge leaves of its
// raw score.
func observe(c subjectClasses, ev Evidence, cal Calibration, judge judgement) []sample {
	var samples []sample
	for _, f := range ev.Frames {
		if f.At >= 0 && !math.IsInf(f.At, 0) {
			samples = append(samples, look(f, c.mine, cal, judge))
		}
	}
	slices.SortStableFunc(samples, func(a, b sample) int { return cmp.Compare(a.at, b.at) })
	return samples
}

func look(f Frame, mine map[int]bool, cal Calibration, judge judgement) sample {
	var own, others []Detection
	for _, d := range f.Detections {
		switch {
		case !(d.Score > 0):
		case mine[d.Term]:
			d.Score = min(d.Score, 1)
			own = append(own, d)
		default:
			others = append(others, d)
		}
	}
	s := sample{at: f.At}
	kept := distinct(own, cal.Overlap)
	if len(kept) == 0 {
		return s
	}
	best := 0
	for i, score := range judge(kept) {
		s.scores = append(s.scores, score)
		if score > s.scores[best] {
			best = i
		}
	}
	s.raw = kept[best].Score
	slices.SortFunc(s.scores, func(a, b float64) int { return cmp.Compare(b, a) })
	for _, d := range others {
		if iou(d.Box, kept[best].Box) >= cal.SamePlace {
			if s.rivals == nil {
				s.rivals = map[int]float64{}
			}
			s.rivals[d.Term] = max(s.rivals[d.Term], min(d.Score, 1))
		}
	}
	return s
}

// distinct keeps the best detection of each object, best first. Boxes that overlap
// are one object when their classes differ (one car seen as car and as truck); within
// a class the model has already told objects apart.
func distinct(ds []Detection, overlap float64) []Detection {
	slices.SortFunc(ds, func(a, b Detection) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Term, b.Term),
			cmp.Compare(a.Box.X1, b.Box.X1), cmp.Compare(a.Box.Y1, b.Box.Y1),
			cmp.Compare(a.Box.X2, b.Box.X2), cmp.Compare(a.Box.Y2, b.Box.Y2))
	})
	var kept []Detection
	for _, d := range ds {
		again := slices.ContainsFunc(kept, func(k Detection) bool {
			return k.Term != d.Term && (iou(k.Box, d.Box) >= overlap || inside(d.Box, k.Box) >= contained)
		})
		if !again {
			kept = append(kept, d)
		}
	}
	return kept
}

func area(b Box) float64 { return max(0, b.X2-b.X1) * max(0, b.Y2-b.Y1) }

func intersection(a, b Box) float64 {
	return area(Box{X1: max(a.X1, b.X1), Y1: max(a.Y1, b.Y1), X2: min(a.X2, b.X2), Y2: min(a.Y2, b.Y2)})
}

// iou is intersection over union, 0 for boxes without an area.
func iou(a, b Box) float64 {
	i := intersection(a, b)
	if !(i > 0) {
		return 0
	}
	return i / (area(a) + area(b) - i)
}

// inside is the share of a that lies in b.
func inside(a, b Box) float64 {
	i := intersection(a, b)
	if !(i > 0) {
		return 0
	}
	return i / area(a)
}
