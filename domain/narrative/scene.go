package narrative

import (
	"cmp"
	"math"
	"slices"

	"vqa/domain/answer"
	"vqa/domain/evidence"
)

const (
	// Sure is the probability that one sight of a thing must have for it to be told. It is
	// that of a thing that is asked about; of what nobody asked about it is worth less.
	Sure = .86
	// Patience is for how long, in seconds, a thing may be hidden that is found again at
	// its place.
	Patience = 3
	// samePlace is the intersection over union from which a box is at the place of
	// another.
	samePlace = .5
	// sameSize is the same for the sizes alone.
	sameSize = .7
	// sameThing is that from which detections of two classes are readings of one thing.
	sameThing = .7
	// moment is how many intervals a thing may be missed anywhere.
	moment = 2.1
)

// thing is one object that is told of.
type thing struct {
	noun   noun
	sights []answer.TrackPoint
}

func (t *thing) first() answer.TrackPoint { return t.sights[0] }
func (t *thing) last() answer.TrackPoint  { return t.sights[len(t.sights)-1] }
func (t *thing) seconds() float64         { return t.last().At - t.first().At }

// at reports whether the thing is there at a time, also while it is missed.
func (t *thing) at(s float64) bool { return t.first().At <= s && s <= t.last().At }

// scene is what a video shows, ready to be told.
type scene struct {
	// at are the times of the samples, in order.
	at        []float64
	intervalS float64
	endS      float64
	// things are ordered by their first sights.
	things []*thing
	// cuts are the indices in at of the first samples of new scenes.
	cuts  []int
	stays map[noun]*stays
	// edges tell when things came and went.
	edges edges
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
	s.edges = edgesOf(ev, cal)
	cal.Overlap = sameThing
	least := Sure * cal.Probability(1)
	for _, t := range answer.Tracks(ev, cal, ev.Terms) {
		if !t.Trusted || cal.Probability(best(t.Points)) < least {
			continue
		}
		if name, ok := nameOf(t, rivals, ev.Terms, cal); ok {
			s.things = append(s.things, &thing{nounOf(name), t.Points})
		}
	}
	s.findCuts()
	s.stitch()
	s.countStays()
	return s
}

func best(sights []answer.TrackPoint) float64 {
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
			if d.Term >= 0 && d.Term < len(terms) && d.Score > 0 && evidence.IoU(d.Box, s.Box) >= sameThing {
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
		case stands(cal, name, terms[class]):
		case stands(cal, terms[class], name):
			name = terms[class]
		default:
			return "", false
		}
	}
	return name, true
}

// stands reports whether the word for a class is also one for another.
func stands(cal answer.Calibration, word, class string) bool {
	classes, ok := cal.Vocabulary.Lookup(word)
	return ok && slices.Contains(classes, class)
}

// findCuts finds the samples in which nothing is where it was, and more than one thing
// has changed, and parts the things there.
func (s *scene) findCuts() {
	var live []*thing
	coming := s.things
	for i := 1; i < len(s.at); i++ {
		was, is := s.at[i-1], s.at[i]
		for len(coming) > 0 && coming[0].first().At <= is {
			live, coming = append(live, coming[0]), coming[1:]
		}
		live = slices.DeleteFunc(live, func(t *thing) bool { return t.last().At < was })
		if !cut(live, was, is) {
			continue
		}
		s.cuts = append(s.cuts, i)
		for k, t := range live {
			if rest := t.part(is); rest != nil {
				s.things, live[k] = append(s.things, rest), rest
			}
		}
	}
	slices.SortStableFunc(s.things, func(a, b *thing) int { return cmp.Compare(a.first().At, b.first().At) })
}

// cut reports whether nothing stays where it is from one sample to the next. One thing
// that jumps is a fast thing.
func cut(things []*thing, was, is float64) bool {
	var before, after []*thing
	for _, t := range things {
		a, b := t.sightAt(was), t.sightAt(is)
		// A thing that is missed in one of both may be there, and one that keeps its size
		// has moved.
		if t.at(was) && t.at(is) && (a == nil || b == nil || evidence.IoU(a.Box, b.Box) >= samePlace || alike(a.Box, b.Box)) {
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

// alike reports whether two boxes are of one size.
func alike(a, b evidence.Box) bool {
	aw, ah, bw, bh := a.X2-a.X1, a.Y2-a.Y1, b.X2-b.X1, b.Y2-b.Y1
	both := min(aw, bw) * min(ah, bh)
	return both >= sameSize*(aw*ah+bw*bh-both)
}

// part cuts off and returns what is seen from a time on, nil when the thing begins then
// or ends before.
func (t *thing) part(atS float64) *thing {
	if t.first().At >= atS || t.last().At < atS {
		return nil
	}
	i, _ := slices.BinarySearchFunc(t.sights, atS, func(s answer.TrackPoint, at float64) int { return cmp.Compare(s.At, at) })
	rest := &thing{t.noun, t.sights[i:]}
	t.sights = t.sights[:i:i]
	return rest
}

// sightAt is the sight of a sample, nil when the thing was not seen in it.
func (t *thing) sightAt(atS float64) *answer.TrackPoint {
	i, found := slices.BinarySearchFunc(t.sights, atS, func(s answer.TrackPoint, at float64) int { return cmp.Compare(s.At, at) })
	if !found {
		return nil
	}
	return &t.sights[i]
}

// stitch joins things that were missed: for a moment anywhere, or for longer at their
// place. What left by an edge is gone.
func (s *scene) stitch() {
	for i := 0; i < len(s.things); i++ {
		t := s.things[i]
		for again := true; again; {
			again = false
			if k := s.nextOf(t, i+1); k >= 0 {
				t.sights = append(slices.Clip(t.sights), s.things[k].sights...)
				s.things, again = slices.Delete(s.things, k, k+1), true
			}
		}
	}
}

// nextOf finds what goes on a thing that ended: of those that follow it, the most
// alike, then the first.
func (s *scene) nextOf(t *thing, from int) int {
	found, likest := -1, -1.0
	for k := from; k < len(s.things); k++ {
		next := s.things[k]
		gap := next.first().At - t.last().At
		if gap > max(Patience, moment*s.intervalS) {
			break
		}
		if next.noun != t.noun || gap <= 0 || s.cutBetween(t.last().At, next.first().At) {
			continue
		}
		if s.leaves(t) != "" || s.enters(next) != "" {
			continue
		}
		here := evidence.IoU(t.last().Box, next.first().Box)
		if (gap <= moment*s.intervalS || here >= samePlace) && here > likest {
			found, likest = k, here
		}
	}
	return found
}

func (s *scene) cutBetween(fromS, toS float64) bool {
	return slices.ContainsFunc(s.cuts, func(i int) bool { return s.at[i] > fromS && s.at[i] <= toS })
}

// stays are when the things of one noun begin and end, each in order.
type stays struct{ begin, end []float64 }

func (s *scene) countStays() {
	s.stays = map[noun]*stays{}
	for _, t := range s.things {
		of := s.stays[t.noun]
		if of == nil {
			of = &stays{}
			s.stays[t.noun] = of
		}
		of.begin, of.end = append(of.begin, t.first().At), append(of.end, t.last().At)
	}
	for _, of := range s.stays {
		slices.Sort(of.end)
	}
}

// visible counts the things of a noun at a time.
func (s scene) visible(n noun, atS float64) int {
	of := s.stays[n]
	begun, _ := slices.BinarySearch(of.begin, math.Nextafter(atS, math.Inf(1)))
	ended, _ := slices.BinarySearch(of.end, atS)
	return begun - ended
}
