package narrative

import (
	"cmp"
	"math"
	"slices"

	"vqa/domain/answer"
	"vqa/domain/evidence"
)

const (
	// minProbability is the probability that the best detection of an object must reach. It is
	// scaled by cal.CapYes for a model that is never that certain. The calibration was
	// measured on objects that a prompt asks about; other objects are less probable at the same
	// score.
	minProbability = .86
	// maxHiddenS is the longest time in seconds that an object may be hidden at one place.
	maxHiddenS = 3
	// samePlaceOverlap is the least intersection over union of two boxes at one place.
	samePlaceOverlap = .5
	// sameShapeOverlap is the least intersection over union of two boxes of one shape, when
	// both have the same center.
	sameShapeOverlap = .7
	// sameObjectOverlap is the least intersection over union of two detections of different
	// classes that are the same object.
	sameObjectOverlap = .7
	// outvote is the factor by which the scores of another class may be higher at the places of an object.
	outvote = 1.25
	// maxGapIntervals is the longest time, in sampling intervals, that an object may be missed
	// at any place.
	maxGapIntervals = 2.1
)

// object is one object with its track.
type object struct {
	noun   noun
	points []answer.TrackPoint
}

func (t *object) first() answer.TrackPoint { return t.points[0] }
func (t *object) last() answer.TrackPoint  { return t.points[len(t.points)-1] }
func (t *object) seconds() float64         { return t.last().At - t.first().At }

// presentAt reports whether the object is present at a time, even when that sample misses it.
func (t *object) presentAt(s float64) bool { return t.first().At <= s && s <= t.last().At }

// scene is the content of a video, ready to be described.
type scene struct {
	// at are the times of the samples, in order.
	at        []float64
	intervalS float64
	endS      float64
	// objects are ordered by their first points.
	objects []*object
	// cuts are the indices in at of the first samples of new scenes.
	cuts     []int
	presence map[noun]*presence
	fine     fineSamples
}

// observe finds the objects and the cuts.
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
	samples := ev
	samples.Fine = nil
	for _, t := range answer.Tracks(samples, cal, ev.Terms) {
		if !t.Trusted || bestOf(t.Points) < minProbability*cal.CapYes {
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

func bestOf(points []answer.TrackPoint) float64 {
	best := 0.0
	for _, s := range points {
		best = max(best, s.P)
	}
	return best
}

// nameOf is the class of a track. ok is false when another class scores nearly as high at the
// same places. It is true when the vocabulary has one word for both: a car may be detected as a
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
		if class == term || votes[class]*outvote <= votes[term] {
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

// wordCovers reports whether the word for a class also means another class.
func wordCovers(cal answer.Calibration, word, class string) bool {
	classes, ok := cal.Vocabulary.Lookup(word)
	return ok && slices.Contains(classes, class)
}

// findCuts finds the samples in which no object is where it was and more than one object has
// changed. It splits the objects there.
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

// isCut reports whether no object stays at its place from one sample to the next. One object
// that jumps is a fast object, not a cut.
func isCut(objects []*object, was, is float64) bool {
	var before, after []*object
	for _, t := range objects {
		a, b := t.pointAt(was), t.pointAt(is)
		// An object that one of the two samples misses may be at its place. One that keeps its
		// shape has moved.
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

// sameShape reports whether two boxes have nearly the same width and height.
func sameShape(a, b evidence.Box) bool {
	aw, ah, bw, bh := a.X2-a.X1, a.Y2-a.Y1, b.X2-b.X1, b.Y2-b.Y1
	both := min(aw, bw) * min(ah, bh)
	return both >= sameShapeOverlap*(aw*ah+bw*bh-both)
}

// splitAt cuts off and returns the part of the track from a time on. It returns nil when the
// track begins then or ends before.
func (t *object) splitAt(atS float64) *object {
	if t.first().At >= atS || t.last().At < atS {
		return nil
	}
	i, _ := slices.BinarySearchFunc(t.points, atS, func(s answer.TrackPoint, at float64) int { return cmp.Compare(s.At, at) })
	rest := &object{t.noun, t.points[i:]}
	t.points = t.points[:i:i]
	return rest
}

// pointAt is the point of the track in a sample, or nil when the sample misses the object.
func (t *object) pointAt(atS float64) *answer.TrackPoint {
	i, found := slices.BinarySearchFunc(t.points, atS, func(s answer.TrackPoint, at float64) int { return cmp.Compare(s.At, at) })
	if !found {
		return nil
	}
	return &t.points[i]
}

// joinInterrupted joins the parts of objects that some samples missed: for a moment at any
// place, or for longer at one place. An object that left by an edge does not return.
func (s *scene) joinInterrupted() {
	for i := 0; i < len(s.objects); i++ {
		t := s.objects[i]
		for again := true; again; {
			again = false
			if k := s.continuationOf(t, i+1); k >= 0 {
				t.points = append(slices.Clip(t.points), s.objects[k].points...)
				s.objects, again = slices.Delete(s.objects, k, k+1), true
			}
		}
	}
}

// continuationOf finds the object that continues one that ended. Among those that follow it
// chooses the one with the largest overlap, then the first.
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

// presence holds the times at which the objects of one noun begin and end, each in order.
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

// visible counts the objects of a noun that are present at a time.
func (s scene) visible(n noun, atS float64) int {
	of := s.presence[n]
	begun, _ := slices.BinarySearch(of.begin, math.Nextafter(atS, math.Inf(1)))
	ended, _ := slices.BinarySearch(of.end, atS)
	return begun - ended
}
