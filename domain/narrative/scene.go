package narrative

import (
	"cmp"
	"math"
	"slices"

	"vqa/domain/answer"
	"vqa/domain/answer/predicate"
	"vqa/domain/evidence"
	"vqa/domain/query"
)

const (
	// minProbability bounds what is told, as a share of the model's surest yes. It is high because the
	// calibration assumes that somebody asked: an object that nobody asked about is less probable at the
	// same score.
	minProbability = .86
	// samePlace is the intersection over union from which objects of two classes are one object.
	samePlace = .7
)

// object is one object of a video.
type object struct {
	answer.Track
	thing int
	noun  noun
}

func (o *object) seconds() float64 { return o.Last() - o.First() }
func (o *object) firstFrame() int  { return o.Frame(0) }
func (o *object) lastFrame() int   { return o.Frame(o.Len() - 1) }

// scene is the content of a video, ready to be described.
type scene struct {
	*answer.Observation
	yes, endS float64
	// objects are ordered by their first points.
	objects []*object
	// most is the number of objects that an answer counts.
	most map[noun]int
	// present is the number of objects in each frame, with those that it misses.
	present map[noun][]int
}

// observe finds the objects that can be told.
func observe(ev evidence.Evidence, cal answer.Calibration) scene {
	least := minProbability * cal.CapYes
	var things []query.Thing
	for _, class := range probable(ev, cal, least) {
		t := query.Thing{Term: class}
		for _, v := range verbs {
			t.Conditions = append(t.Conditions, query.Condition{Kind: query.KindAction, Value: v.form})
		}
		things = append(things, t)
	}
	s := scene{Observation: answer.Observe(ev, cal, things...), yes: cal.Yes, most: map[noun]int{}}
	if len(s.Times) == 0 {
		return s
	}
	s.endS = s.Times[len(s.Times)-1]
	if ev.DurationS > 0 && !math.IsInf(ev.DurationS, 0) {
		s.endS = ev.DurationS
	}
	for i, t := range things {
		name := nounOf(t.Term)
		s.most[name] = max(s.most[name], s.Most(i))
		for _, track := range s.Tracks(i) {
			if track.Best >= cal.Yes && track.Highest >= least {
				s.objects = append(s.objects, &object{track, i, name})
			}
		}
	}
	slices.SortStableFunc(s.objects, func(a, b *object) int { return cmp.Compare(a.firstFrame(), b.firstFrame()) })
	s.leaveOneOfEach(func(wide, narrow *object) bool {
		classes, _ := cal.Vocabulary.Lookup(things[wide.thing].Term)
		return slices.Contains(classes, things[narrow.thing].Term)
	})
	s.present = map[noun][]int{}
	for _, o := range s.objects {
		if s.present[o.noun] == nil {
			s.present[o.noun] = make([]int, len(s.Times))
		}
		for i := o.firstFrame(); i <= o.lastFrame(); i++ {
			s.present[o.noun][i]++
		}
	}
	return s
}

// probable are the classes that at least one frame shows with some probability.
func probable(ev evidence.Evidence, cal answer.Calibration, least float64) []string {
	found := make([]bool, len(ev.Terms))
	for _, f := range ev.Timeline() {
		for _, d := range f.Load(false).Detections {
			if d.Term >= 0 && d.Term < len(found) && !found[d.Term] {
				found[d.Term] = cal.Probability(ev.Terms[d.Term], d.Score) >= least
			}
		}
	}
	var out []string
	for i, term := range ev.Terms {
		if found[i] && !slices.Contains(out, term) {
			out = append(out, term)
		}
	}
	return out
}

// leaveOneOfEach removes the objects that are seen as objects of another class, too. The narrower class
// stays, or the more probable one.
func (s *scene) leaveOneOfEach(covers func(wide, narrow *object) bool) {
	dropped := map[*object]bool{}
	var live []*object
	for _, o := range s.objects {
		live = slices.DeleteFunc(live, func(l *object) bool { return l.lastFrame() < o.firstFrame() })
		for _, l := range live {
			if dropped[l] || dropped[o] || l.thing == o.thing || !together(l, o) {
				continue
			}
			switch {
			case covers(l, o), !covers(o, l) && o.Best > l.Best:
				dropped[l] = true
			default:
				dropped[o] = true
			}
		}
		live = append(live, o)
	}
	s.objects = slices.DeleteFunc(s.objects, func(o *object) bool { return dropped[o] })
}

// together reports whether two objects are at one place in most frames of the shorter one.
func together(a, b *object) bool {
	if a.Len() > b.Len() {
		a, b = b, a
	}
	same := 0
	for i, k := 0, 0; i < a.Len() && k < b.Len(); {
		switch x, y := a.Objects[a.Index[i]], b.Objects[b.Index[k]]; {
		case x.Frame < y.Frame:
			i++
		case x.Frame > y.Frame:
			k++
		default:
			if evidence.IoU(x.Box(), y.Box()) >= samePlace {
				same++
			}
			i, k = i+1, k+1
		}
	}
	return 2*same > a.Len()
}

// comes reports whether an object comes into view with its first point, and by which side of the frame. It
// may also have been there before the video, or before the scene, or continue one that was told.
func (s scene) comes(o *object) (evidence.Side, bool) {
	_, side, p := o.Enters()
	side, comes := s.passage(o, side, p)
	return side, comes || !s.atStart(o) && !s.Views[o.firstFrame()].Cut && !s.continues(o)
}

// atStart reports whether an object is there from the first frames on.
func (s scene) atStart(o *object) bool { return o.First()-s.Times[0] < 1.5*s.IntervalS }

// continues reports whether another object of the kind was there shortly before.
func (s scene) continues(o *object) bool {
	const lostS = 3
	for i := o.firstFrame() - 1; i >= 0 && o.First()-s.Times[i] < lostS; i-- {
		if s.present[o.noun][i] > 0 {
			return true
		}
	}
	return false
}

// goes reports whether an object goes out of view with its last point, and by which side.
func (s scene) goes(o *object) (evidence.Side, bool) {
	_, side, p := o.Leaves()
	return s.passage(o, side, p)
}

// passage leaves out a side for which the answer to "does it leave to the right?" would not be yes.
func (s scene) passage(o *object, side evidence.Side, p float64) (evidence.Side, bool) {
	const possible = .1 // what may have been there, or was only hidden, is far below
	if o.Highest*p < s.yes {
		side = ""
	}
	return side, p > possible
}

// alone reports whether no object of the kind is seen for a second before the first point of an object, or
// after its last point. That is how long an answer needs.
func (s scene) alone(o *object, after bool) bool {
	from, to := o.First()-1-s.IntervalS, o.First()
	if after {
		from, to = o.Last(), o.Last()+1+s.IntervalS
		if s.Times[len(s.Times)-1]-from < 1 {
			return false
		}
	}
	i, _ := slices.BinarySearchFunc(o.Objects, from, func(p predicate.Object, from float64) int { return cmp.Compare(s.Times[p.Frame], from) })
	for _, p := range o.Objects[i:] {
		at := s.Times[p.Frame]
		if at >= to {
			break
		}
		if at > from && float64(p.P) >= s.yes {
			return false
		}
	}
	return true
}

// visible is the number of objects of a noun that are present in a frame, at most the number that an answer
// counts.
func (s scene) visible(n noun, frame int) int { return min(s.present[n][frame], s.most[n]) }
