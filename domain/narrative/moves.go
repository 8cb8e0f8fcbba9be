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
	// maxSway is the distance, in widths of the frame, up to which an object has not started to
	// move.
	maxSway = .05
	// minPostureProbability is the least probability of a posture that is described.
	minPostureProbability = .7
	// minBodyShare is the least size of a body, as a share of the largest body in the sample.
	// The keypoints of smaller bodies are not reliable.
	minBodyShare = .2
)

// leg is a part of a track in which an object moves to one side.
type leg struct {
	first, last int
	to          evidence.Side
}

// legsOf cuts the path of an object at its turning points. It turns where it moves back by
// minLeg.
func legsOf(t *object) []leg {
	var out []leg
	low, high, turn, far := 0, 0, 0, 0
	var to evidence.Side
	for i := range t.points {
		x := t.centerX(i)
		if x < t.centerX(low) {
			low = i
		}
		if x > t.centerX(high) {
			high = i
		}
		switch {
		case to == "" && x-t.centerX(low) >= minLeg:
			to, turn, far = evidence.Right, low, i
		case to == "" && t.centerX(high)-x >= minLeg:
			to, turn, far = evidence.Left, high, i
		case to == evidence.Right && x > t.centerX(far), to == evidence.Left && x < t.centerX(far):
			far = i
		case to == evidence.Right && t.centerX(far)-x >= minLeg:
			out = append(out, leg{turn, far, to})
			to, turn, far = evidence.Left, far, i
		case to == evidence.Left && x-t.centerX(far) >= minLeg:
			out = append(out, leg{turn, far, to})
			to, turn, far = evidence.Right, far, i
		}
	}
	if to != "" {
		out = append(out, leg{turn, far, to})
	}
	for k, w := range out {
		for i := w.first; i <= w.last; i++ {
			if math.Abs(t.centerX(i)-t.centerX(w.first)) < maxSway {
				out[k].first = i
			}
		}
	}
	return out
}

// centerX is the horizontal center of the object at point i.
func (t *object) centerX(i int) float64 { return (t.points[i].Box.X1 + t.points[i].Box.X2) / 2 }

// movements describe in which direction objects move. A move into or out of the frame is left
// out, because another entry describes it.
func (s scene) movements() []event {
	type move struct {
		t        *object
		from, to answer.TrackPoint
		side     evidence.Side
	}
	var moves []move
	for _, t := range s.objects {
		for _, w := range legsOf(t) {
			comes := w.first == 0 && !s.presentAtStart(t) && s.entrySide(t) != "" && s.entrySide(t) != w.to
			goes := w.last == len(t.points)-1 && !s.presentAtEnd(t) && s.exitSide(t) == w.to
			if !comes && !goes {
				moves = append(moves, move{t, t.points[w.first], t.points[w.last], w.to})
			}
		}
	}
	slices.SortStableFunc(moves, func(a, b move) int { return cmp.Compare(a.from.At, b.from.At) })
	var out []event
	var live []*object
	coming := s.objects
	for _, m := range moves {
		for len(coming) > 0 && coming[0].first().At <= m.from.At {
			live, coming = append(live, coming[0]), coming[1:]
		}
		live = slices.DeleteFunc(live, func(t *object) bool { return t.last().At < m.from.At })
		if total := s.visible(m.t.noun, m.from.At); total <= maxCounted && !cameraMoved(m.t, live, m.from, m.to) {
			text := sentence(m.t.noun.of(1, total), "moves to the", string(m.side))
			out = append(out, event{Entry{m.from.At, text}, rankMoving, m.t.seconds()})
		}
	}
	return out
}

// cameraMoved reports whether all other objects move in the same way, at least one of another
// kind. Then the camera moves, not the object.
func cameraMoved(t *object, objects []*object, from, to answer.TrackPoint) bool {
	const alike = .6 // share of the distance
	dx := (to.Box.X1 + to.Box.X2 - from.Box.X1 - from.Box.X2) / 2
	other := false
	for _, o := range objects {
		a, b := o.pointAt(from.At), o.pointAt(to.At)
		if o == t || a == nil || b == nil {
			continue
		}
		if (b.Box.X1+b.Box.X2-a.Box.X1-a.Box.X2)/2/dx < alike {
			return false
		}
		other = other || o.noun != t.noun
	}
	return other
}

var changesTo = map[string]string{
	"sitting": "sits down", "standing": "stands up", "lying": "lies down",
}

// postures describe how people change their posture. A posture must be seen in two neighboring
// samples.
func (s scene) postures(cal answer.Calibration) []event {
	largest := s.largestPerson(cal)
	var out []event
	for _, t := range s.objects {
		if t.noun != irregularNouns["person"] {
			continue
		}
		var now, last string
		var since float64
		for _, point := range t.points {
			p, probability, ok := point.Posture()
			if !ok || probability < minPostureProbability || area(point) < minBodyShare*largest[point.At] {
				continue
			}
			if p != last {
				last, since = p, point.At
				continue
			}
			if total := s.visible(t.noun, since); now != "" && p != now && total <= maxCounted {
				out = append(out, event{Entry{since, sentence(t.noun.of(1, total), changesTo[p])}, rankPosture, t.seconds()})
			}
			now = p
		}
	}
	return out
}

// largestPerson is the largest area of a person in each sample.
func (s scene) largestPerson(cal answer.Calibration) map[float64]float64 {
	largest := map[float64]float64{}
	people := slices.DeleteFunc(slices.Clone(s.objects), func(t *object) bool { return t.noun != irregularNouns["person"] })
	for _, t := range people {
		for _, point := range t.points {
			if point.P >= cal.Yes {
				largest[point.At] = max(largest[point.At], area(point))
			}
		}
	}
	return largest
}

func area(s answer.TrackPoint) float64 { return (s.Box.X2 - s.Box.X1) * (s.Box.Y2 - s.Box.Y1) }
