package narrative

import (
	"cmp"
	"math"
	"slices"

	"vqa/domain/answer"
	"vqa/domain/evidence"
)

const (
	// minLeg is the least length of a move that is described, in widths of the frame.
	minLeg = .25
	// maxSway is the distance, in widths of the frame, up to which an object has not started to move.
	maxSway = .05
)

// verbs are the predicates that are told, by their normal forms. They need no more frames than a narrative
// has. The first that fits a movement is used for it.
var verbs = []struct {
	form string
	// way is the verb of a movement to a side, change that of a change of the posture.
	way, change string
}{
	{"walking", "walks", ""},
	{"moving", "moves", ""},
	{"standing", "", "stands up"},
	{"sitting", "", "sits down"},
	{"lying", "", "lies down"},
}

// leg is a part of a track in which an object moves to one side.
type leg struct {
	first, last int
	to          evidence.Side
}

// path is the horizontal center of an object at each point, without the movement of the camera.
func (s scene) path(o *object) []float64 {
	x := make([]float64, o.Len())
	for k := range x {
		b := s.Views[o.Frame(k)].In(o.Box(k))
		x[k] = (b.X1 + b.X2) / 2
	}
	return x
}

// legsOf cuts a path at its turning points. An object turns where it moves back by minLeg.
func legsOf(path []float64) []leg {
	var out []leg
	low, high, turn, far := 0, 0, 0, 0
	var to evidence.Side
	for i, x := range path {
		if x < path[low] {
			low = i
		}
		if x > path[high] {
			high = i
		}
		switch {
		case to == "" && x-path[low] >= minLeg:
			to, turn, far = evidence.Right, low, i
		case to == "" && path[high]-x >= minLeg:
			to, turn, far = evidence.Left, high, i
		case to == evidence.Right && x > path[far], to == evidence.Left && x < path[far]:
			far = i
		case to == evidence.Right && path[far]-x >= minLeg:
			out = append(out, leg{turn, far, to})
			to, turn, far = evidence.Left, far, i
		case to == evidence.Left && x-path[far] >= minLeg:
			out = append(out, leg{turn, far, to})
			to, turn, far = evidence.Right, far, i
		}
	}
	if to != "" {
		out = append(out, leg{turn, far, to})
	}
	for k, w := range out {
		for i := w.first; i <= w.last; i++ {
			if math.Abs(path[i]-path[w.first]) < maxSway {
				out[k].first = i
			}
		}
	}
	return out
}

// movements describe in which direction objects move. A move into or out of the frame is left out, because
// another entry describes it.
func (s scene) movements() []event {
	var out []event
	for _, o := range s.objects {
		from, comes := s.comes(o)
		to, goes := s.goes(o)
		for _, w := range legsOf(s.path(o)) {
			if comes && w.first == 0 && from != "" && from != w.to || goes && w.last == o.Len()-1 && to == w.to {
				continue
			}
			if way := s.way(o, w); way != "" {
				out = s.tell(out, o, o.Frame(w.first), rankMoving, way, "to the", string(w.to))
			}
		}
	}
	return out
}

// tell appends a sentence about one object, unless there are too many of its kind.
func (s scene) tell(out []event, o *object, frame, rank int, words ...string) []event {
	total := s.visible(o.noun, frame)
	if total > maxCounted {
		return out
	}
	text := sentence(append([]string{o.noun.of(1, total)}, words...)...)
	return append(out, event{Entry{s.Times[frame], text}, rank, o.seconds()})
}

// way is the verb for a movement of an object, empty when an answer would not say that it moves then.
func (s scene) way(o *object, w leg) string {
	from, to := o.Frame(w.first), o.Frame(w.last)
	if s.Views[from].Segment != s.Views[to].Segment {
		return "" // how the camera moved in between is not known
	}
	for _, v := range verbs {
		if v.way == "" {
			continue
		}
		moves := 0
		for _, span := range s.Holds(o.thing, v.form, o.Track) {
			moves += max(0, min(to, span.Last)-max(from, span.First)+1)
		}
		if 2*moves > to-from+1 {
			return v.way
		}
	}
	return ""
}

// postures describe how people change their posture.
func (s scene) postures() []event {
	type stay struct {
		answer.Span
		verb string
	}
	var out []event
	for _, o := range s.objects {
		var stays []stay
		for _, v := range verbs {
			if v.change == "" {
				continue
			}
			for _, span := range s.Holds(o.thing, v.form, o.Track) {
				stays = append(stays, stay{span, v.change})
			}
		}
		slices.SortStableFunc(stays, func(a, b stay) int { return cmp.Compare(a.First, b.First) })
		for i := 1; i < len(stays); i++ {
			if stays[i].verb != stays[i-1].verb {
				out = s.tell(out, o, stays[i].First, rankPosture, stays[i].verb)
			}
		}
	}
	return out
}
