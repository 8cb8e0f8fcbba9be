package narrative

import (
	"cmp"
	"math"
	"slices"

	"vqa/domain/answer"
	"vqa/domain/evidence"
)

const (
	// minProbability is the probability that one sight of a thing must have for it to be told. It is
	// that of a thing that is asked about; of what nobody asked about it is worth less.
	minProbability = .86
	// maxHiddenS is for how long, in seconds, a thing may be hidden that is found again at
	// its place.
	maxHiddenS = 3
	// samePlaceOverlap is the intersection over union from which a box is at the place of
	// another.
	samePlaceOverlap = .5
	// sameShapeOverlap is the same for the sizes alone.
	sameShapeOverlap = .7
	// sameObjectOverlap is that from which detections of two classes are readings of one thing.
	sameObjectOverlap = .7
	// maxGapIntervals is how many intervals a thing may be missed anywhere.
	maxGapIntervals = 2.1
)

// object is one object that is told of.
type object struct {
	noun   noun
	sights []answer.TrackPoint
}

func (t *object) first() answer.TrackPoint { return t.sights[0] }
func (t *object) last() answer.TrackPoint  { return t.sights[len(t.sights)-1] }
func (t *object) seconds() float64         { return t.last().At - t.first().At }

// presentAt reports whether the thing is there at a time, also while it is missed.
func (t *object) presentAt(s float64) bool { return t.first().At <= s && s <= t.last().At }

// scene is what a video shows, ready to be told.
type scene struct {
	// at are the times of the samples, in order.
	at        []float64
	intervalS float64
	endS      float64
	// objects are ordered by their first sights.
	objects []*object
	// cuts are the indices in at of the first samples of new scenes.
	cuts     []int
	presence map[noun]*presence
	// fine tell when things came and went.
	fine fineSamples
}

// observe finds what is to be told.
func observe(ev evidence.Evidence, cal answer.Calibration) scene {
	s := scene{}
	if ev.IntervalS > 0 && !math.IsInf(ev.IntervalS, 0) {
		s.intervalS = ev.IntervalS
	}
	rivals := map[float64][]evidence.Detection{}
	for _, f := range ev.Frames {
		if f.At >= 0 && !math.IsInf(f.At, 0) {
			s.at = append(s.at, f.At)
			rivals[f.At] = append(rivals[f.At], f.Load(false).Detections...)
		}
	}
	if len(s.at) == 0 {
		return s
	}
	slices.Sort(s.at)
	s.at = slices.Compact(s.at)
	s.endS = s.at[len(s.at)-1]
	if ev.DurationS > 0 && !math.IsInf(ev.DurationS, 0) {
		s.endS = ev.DurationS
	}
	s.fine = fineSamplesOf(ev, cal)
	cal.Overlap = sameObjectOverlap
	least := minProbability * cal.Probability(1)
	for _, t := range answer.Tracks(ev, cal, ev.Terms) {
		if !t.Trusted || cal.Probability(bestScore(t.Points)) < least {
			continue
		}
		if name, ok := nameOf(t, rivals, ev.Terms, cal); ok {
			s.objects = append(s.objects, &object{nounOf(name), t.Points})
		}
	}
	s.findCuts()
	s.joinInterrupted()
	s.countPresence()
	return s
}

func bestScore(sights []answer.TrackPoint) float64 {
	score := 0.0
	for _, s := range sights {
		score = max(score, s.Score)
	}
	return score
}

// nameOf is the class of a track. A class that other readings of the same place come
// near to is not told, unless the vocabulary has one word for both: a car is a car or a
// truck.
func nameOf(t answer.Track, rivals map[float64][]evidence.Detection, terms []string, cal answer.Calibration) (string, bool) {
	term := t.Term()
	votes := map[int]float64{}
	for _, s := range t.Points {
		read := map[int]float64{}
		for _, d := range rivals[s.At] {
			if d.Term >= 0 && d.Term < len(terms) && d.Score > 0 && evidence.IoU(d.Box, s.Box) >= sameObjectOverlap {
				read[d.Term] = max(read[d.Term], min(d.Score, 1))
			}
		}
		for class, score := range read {
			votes[class] += score
		}
	}
	name := terms[term]
	for class := range terms {
		if class == term || votes[class]*cal.Outvote <= votes[term] {
			continue
		}
		switch {
		case wordCovers(cal, name, terms[class]):
		case wordCovers(cal, terms[class], name):
			name = terms[class]
		default:
			return "", false
		}
	}
	return name, true
}

// wordCovers reports whether the word for a class is also one for another.
func wordCovers(cal answer.Calibration, word, class string) bool {
	classes, ok := cal.Vocabulary.Lookup(word)
	return ok && slices.Contains(classes, class)
}

// findCuts finds the samples in which nothing is where it was, and more than one thing
// has changed, and parts the things there.
func (s *scene) findCuts() {
	var live []*object
	coming := s.objects
	for i := 1; i < len(s.at); i++ {
		was, is := s.at[i-1], s.at[i]
		for len(coming) > 0 && coming[0].first().At <= is {
			live, coming = append(live, coming[0]), coming[1:]
		}
		live = slices.DeleteFunc(live, func(t *object) bool { return t.last().At < was })
		if !isCut(live, was, is) {
			continue
		}
		s.cuts = append(s.cuts, i)
		for k, t := range live {
			if rest := t.splitAt(is); rest != nil {
				s.objects, live[k] = append(s.objects, rest), rest
			}
		}
	}
	slices.SortStableFunc(s.objects, func(a, b *object) int { return cmp.Compare(a.first().At, b.first().At) })
}

// isCut reports whether nothing stays where it is from one sample to the next. One thing
// that jumps is a fast thing.
func isCut(objects []*object, was, is float64) bool {
	var before, after []*object
	for _, t := range objects {
		a, b := t.sightAt(was), t.sightAt(is)
		// A thing that is missed in one of both may be there, and one that keeps its size
		// has moved.
		if t.presentAt(was) && t.presentAt(is) && (a == nil || b == nil || evidence.IoU(a.Box, b.Box) >= samePlaceOverlap || sameShape(a.Box, b.Box)) {
			return false
		}
		if a != nil {
			before = append(before, t)
		}
		if b != nil {
			after = append(after, t)
		}
	}
	switch {
	case len(before) == 0 || len(after) == 0:
		return false
	case len(before) == 1 && len(after) == 1:
		return before[0].noun != after[0].noun
	}
	return true
}

// sameShape reports whether two boxes are of one size.
func sameShape(a, b evidence.Box) bool {
	aw, ah, bw, bh := a.X2-a.X1, a.Y2-a.Y1, b.X2-b.X1, b.Y2-b.Y1
	both := min(aw, bw) * min(ah, bh)
	return both >= sameShapeOverlap*(aw*ah+bw*bh-both)
}

// splitAt cuts off and returns what is seen from a time on, nil when the thing begins then
// or ends before.
func (t *object) splitAt(atS float64) *object {
	if t.first().At >= atS || t.last().At < atS {
		return nil
	}
	i, _ := slices.BinarySearchFunc(t.sights, atS, func(s answer.TrackPoint, at float64) int { return cmp.Compare(s.At, at) })
	rest := &object{t.noun, t.sights[i:]}
	t.sights = t.sights[:i:i]
	return rest
}

// sightAt is the sight of a sample, nil when the thing was not seen in it.
func (t *object) sightAt(atS float64) *answer.TrackPoint {
	i, found := slices.BinarySearchFunc(t.sights, atS, func(s answer.TrackPoint, at float64) int { return cmp.Compare(s.At, at) })
	if !found {
		return nil
	}
	return &t.sights[i]
}

// joinInterrupted joins things that were missed: for a moment anywhere, or for longer at their
// place. What left by an edge is gone.
func (s *scene) joinInterrupted() {
	for i := 0; i < len(s.objects); i++ {
		t := s.objects[i]
		for again := true; again; {
			again = false
			if k := s.continuationOf(t, i+1); k >= 0 {
				t.sights = append(slices.Clip(t.sights), s.objects[k].sights...)
				s.objects, again = slices.Delete(s.objects, k, k+1), true
			}
		}
	}
}

// continuationOf finds what goes on a thing that ended: of those that follow it, the most
// alike, then the first.
func (s *scene) continuationOf(t *object, from int) int {
	found, likest := -1, -1.0
	for k := from; k < len(s.objects); k++ {
		next := s.objects[k]
		gap := next.first().At - t.last().At
		if gap > max(maxHiddenS, maxGapIntervals*s.intervalS) {
			break
		}
		if next.noun != t.noun || gap <= 0 || s.cutBetween(t.last().At, next.first().At) {
			continue
		}
		if s.exitSide(t) != "" || s.entrySide(next) != "" {
			continue
		}
		here := evidence.IoU(t.last().Box, next.first().Box)
		if (gap <= maxGapIntervals*s.intervalS || here >= samePlaceOverlap) && here > likest {
			found, likest = k, here
		}
	}
	return found
}

func (s *scene) cutBetween(fromS, toS float64) bool {
	return slices.ContainsFunc(s.cuts, func(i int) bool { return s.at[i] > fromS && s.at[i] <= toS })
}

// presence are when the things of one noun begin and end, each in order.
type presence struct{ begin, end []float64 }

func (s *scene) countPresence() {
	s.presence = map[noun]*presence{}
	for _, t := range s.objects {
		of := s.presence[t.noun]
		if of == nil {
			of = &presence{}
			s.presence[t.noun] = of
		}
		of.begin, of.end = append(of.begin, t.first().At), append(of.end, t.last().At)
	}
	for _, of := range s.presence {
		slices.Sort(of.end)
	}
}

// visible counts the things of a noun at a time.
func (s scene) visible(n noun, atS float64) int {
	of := s.presence[n]
	begun, _ := slices.BinarySearch(of.begin, math.Nextafter(atS, math.Inf(1)))
	ended, _ := slices.BinarySearch(of.end, atS)
	return begun - ended
}
