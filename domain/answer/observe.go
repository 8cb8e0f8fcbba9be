package answer

import (
	"cmp"
	"iter"
	"slices"

	"vqa/domain/evidence"
)

// contained is the share of a box inside another from which both are one object.
const contained = .8

// sample is one frame's scores for one subject.
type sample struct {
	at float64
	// scores are the scores of the distinct objects, best first: raw scores, or the scores
	// after the conditions were applied.
	scores []float64
	// alike are the scores for counts that last, best first. Objects about as large as the
	// best are discounted less than others.
	alike []float64
	// raw is the raw score of the best object. It is compared with the scores of its
	// rivals.
	raw float64
	// highest is the highest raw score of any object.
	highest float64
	// rivals are the best scores of other classes at the place of the best object, by index
	// in Evidence.Terms.
	rivals map[int]float64
}

// backed reports whether the samples before the last one support it. One is enough when
// both are at least Faint and their mean is at least Threshold. Otherwise two must be at
// least Faint.
func backed(samples []sample, cal Calibration) bool {
	over := func(n int, score float64) bool {
		return len(samples) >= n &&
			!slices.ContainsFunc(samples[len(samples)-n:], func(s sample) bool { return s.best() < score })
	}
	n := len(samples)
	return over(2, cal.Faint) && samples[n-2].best()+samples[n-1].best() >= 2*cal.Threshold || over(3, cal.Faint)
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
	// mine are the indices in Evidence.Terms of the subject's classes that the model knows.
	mine map[int]bool
	// confused are those of mine that count as the subject only where another of mine is
	// detected too.
	confused map[int]bool
	// covers is true when no detection means that there is no such object.
	covers bool
	// person is the result of personIn.
	person int
}

// personIn is the index of the class person in Evidence.Terms, -1 when it is not there.
func personIn(ev evidence.Evidence) int { return slices.Index(ev.Terms, "person") }

func classesOf(term string, ev evidence.Evidence, cal Calibration) subjectClasses {
	classes, ok := cal.Vocabulary.Lookup(term)
	confused := cal.Vocabulary.Confused(term)
	c := subjectClasses{
		mine: map[int]bool{}, confused: map[int]bool{}, covers: cal.Vocabulary.Covers(term),
		person: personIn(ev),
	}
	if !ok {
		classes, c.covers = []string{term}, true
	}
	for _, class := range classes {
		i := slices.Index(ev.Terms, class)
		if i >= 0 && i < len(ev.Known) && ev.Known[i] {
			c.mine[i], c.confused[i] = true, slices.Contains(confused, class)
		}
	}
	c.covers = c.covers && len(c.mine) == len(classes)
	return c
}

// object is one object of a subject's classes in a frame.
type object struct {
	evidence.Object
	// worth is the score that counts in a single sample. It is lower when another class is
	// detected at the same place.
	worth float64
	// firm is the score that counts when a detection lasts. A single rival class at the
	// same place does not lower it.
	firm float64
	// motion is the movement of the object through the video; unknown unless it was
	// followed.
	motion motion
	// stance is the stance of a person.
	stance stance
	// occurrences are what happens to the object, when the question asks for that.
	occurrences []occurrence
}

// observation is what one frame shows of a subject's classes.
type observation struct {
	at float64
	// objects are the distinct objects, best first.
	objects []object
	// shades is the brightness of the frame.
	shades []byte
	// others are the detections of other classes.
	others []evidence.Detection
}

// observations yields one observation for each frame, in the order of time. It never holds
// all of them: the detections of hours of a crowd do not fit in memory. Keypoints, colors
// and shades are loaded only if details.
func observations(c subjectClasses, ev evidence.Evidence, cal Calibration, details bool) iter.Seq[observation] {
	return func(yield func(observation) bool) {
		for _, f := range ev.Ordered() {
			if !yield(observe(f.Load(details), c, cal)) {
				return
			}
		}
	}
}

func observe(f evidence.Frame, c subjectClasses, cal Calibration) observation {
	s := observation{at: f.At, shades: f.Shades}
	var own []evidence.Detection
	if n := len(f.Detections); n > 0 {
		own, s.others = make([]evidence.Detection, 0, n), make([]evidence.Detection, 0, n)
	}
	for _, d := range f.Detections {
		switch {
		case !(d.Score > 0):
		case c.mine[d.Term] && !c.mistaken(d, f.Detections, cal):
			d.Score = min(d.Score, 1)
			own = append(own, d)
		default:
			s.others = append(s.others, d)
		}
	}
	for _, d := range distinct(own, cal.Overlap) {
		o := object{Object: evidence.Object{Detection: d}, firm: s.firm(d, c.person, cal)}
		o.worth = s.worth(o, cal)
		s.objects = append(s.objects, o)
	}
	return s
}

// mistaken reports whether a detection of a confused class does not count: no detection at
// its place is of the subject's other classes.
func (c subjectClasses) mistaken(d evidence.Detection, all []evidence.Detection, cal Calibration) bool {
	return c.confused[d.Term] && !slices.ContainsFunc(all, func(o evidence.Detection) bool {
		return c.mine[o.Term] && !c.confused[o.Term] && o.Score >= cal.Keep && evidence.IoU(o.Box, d.Box) >= cal.Overlap
	})
}

// firm is the score of a detection. A weak person is worth half when all other classes at
// the same place together score Spread times as much.
func (s observation) firm(d evidence.Detection, person int, cal Calibration) float64 {
	if d.Term == person && d.Score < cal.Firm && s.spread(d, cal) >= cal.Spread {
		return d.Score / 2
	}
	return d.Score
}

// worth is the firm score. A weak object is worth half when another class scores as much at
// the same place: a weak orange is often an apple.
func (s observation) worth(o object, cal Calibration) float64 {
	if o.Score >= cal.Threshold {
		return o.firm
	}
	for _, rival := range s.others {
		if rival.Score >= o.Score && evidence.IoU(rival.Box, o.Box) >= cal.Contest {
			return o.Score / 2
		}
	}
	return o.firm
}

// spread is the sum of the scores of all other classes at the place of a detection, divided
// by its own score, > 0.
func (s observation) spread(d evidence.Detection, cal Calibration) float64 {
	sum := 0.0
	for _, rival := range s.others {
		if rival.Score > 0 && evidence.IoU(rival.Box, d.Box) >= cal.Contest {
			sum += min(rival.Score, 1)
		}
	}
	return sum / d.Score
}

// samplesOf turns observations into samples with the scores that scoreOf gives to the
// objects.
func samplesOf(all iter.Seq[observation], scoreOf scorer, cal Calibration) []sample {
	var samples []sample
	for s := range all {
		samples = append(samples, s.scored(scoreOf, cal))
	}
	return samples
}

func (s observation) scored(scoreOf scorer, cal Calibration) sample {
	out := sample{at: s.at}
	if len(s.objects) == 0 {
		return out
	}
	best := 0
	out.highest = s.objects[0].Score
	out.scores, out.alike = make([]float64, 0, len(s.objects)), make([]float64, 0, len(s.objects))
	for i, score := range scoreOf(s) {
		out.scores = append(out.scores, score)
		if score > out.scores[best] {
			best = i
		}
	}
	out.raw = s.objects[best].Score
	for i, o := range s.objects {
		switch {
		case i == best:
			out.alike = append(out.alike, out.scores[i])
		case out.scores[i] == o.worth && alike(o.Box, s.objects[best].Box):
			out.alike = append(out.alike, o.firm-cal.Alike)
		default:
			out.alike = append(out.alike, out.scores[i]-cal.Further)
		}
	}
	slices.SortFunc(out.alike, func(a, b float64) int { return cmp.Compare(b, a) })
	slices.SortFunc(out.scores, func(a, b float64) int { return cmp.Compare(b, a) })
	for _, d := range s.others {
		if evidence.IoU(d.Box, s.objects[best].Box) >= cal.SamePlace {
			if out.rivals == nil {
				out.rivals = map[int]float64{}
			}
			out.rivals[d.Term] = max(out.rivals[d.Term], min(d.Score, 1))
		}
	}
	return out
}

// alike reports whether two boxes are of different objects of about the same size, neither
// of them tiny.
func alike(a, b evidence.Box) bool {
	const resize, apart, tiny = 1.6, .3, .01
	similar := func(x, y float64) bool { return x <= resize*y && y <= resize*x }
	return similar(a.X2-a.X1, b.X2-b.X1) && similar(a.Y2-a.Y1, b.Y2-b.Y1) && evidence.IoU(a, b) < apart && evidence.Area(a) >= tiny
}

// bestFirst orders detections by score. The other fields make the order unique.
func bestFirst(a, b evidence.Detection) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Term, b.Term),
		cmp.Compare(a.Box.X1, b.Box.X1), cmp.Compare(a.Box.Y1, b.Box.Y1),
		cmp.Compare(a.Box.X2, b.Box.X2), cmp.Compare(a.Box.Y2, b.Box.Y2))
}

// distinct keeps the best detection of each object, best first. Overlapping boxes of
// different classes are one object, such as a car that is detected as car and as truck.
// Within a class the model has already separated the objects.
func distinct(ds []evidence.Detection, overlap float64) []evidence.Detection {
	slices.SortFunc(ds, bestFirst)
	var kept []evidence.Detection
	for _, d := range ds {
		again := slices.ContainsFunc(kept, func(k evidence.Detection) bool {
			return k.Term != d.Term && (evidence.IoU(k.Box, d.Box) >= overlap || evidence.ShareInside(d.Box, k.Box) >= contained)
		})
		if !again {
			kept = append(kept, d)
		}
	}
	return kept
}
