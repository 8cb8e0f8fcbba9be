package narrative

import (
	"cmp"
	"math"
	"slices"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
)

const (
	// minLeg is the least way, in widths of the frame, that is told.
	minLeg = .25
	// maxSway is the way under which a thing has not set out yet.
	maxSway = .05
	// minPostureProbability is the probability from which a posture is believed.
	minPostureProbability = .7
	// minBodyShare is the share of the largest body's area under which a body is scenery
	// whose joints cannot be told.
	minBodyShare = .2
)

// leg is a stretch of a thing's sights in which it goes to one side.
type leg struct {
	first, last int
	to          evidence.Side
}

// legsOf cuts the path of a thing at its turning points: where it comes back by a leg.
func legsOf(t *object) []leg {
	var out []leg
	low, high, turn, far := 0, 0, 0, 0
	var to evidence.Side
	for i := range t.sights {
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

// centerX is the centre of a sight across the frame.
func (t *object) centerX(i int) float64 { return (t.sights[i].Box.X1 + t.sights[i].Box.X2) / 2 }

// movements tell which way things go, but for what their coming and leaving tells.
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
			goes := w.last == len(t.sights)-1 && !s.presentAtEnd(t) && s.exitSide(t) == w.to
			if !comes && !goes {
				moves = append(moves, move{t, t.sights[w.first], t.sights[w.last], w.to})
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

// cameraMoved reports whether all others of some things, at least one of another kind, go the
// same way meanwhile: then it is the camera that moves.
func cameraMoved(t *object, objects []*object, from, to answer.TrackPoint) bool {
	const alike = .6 // of the way
	dx := (to.Box.X1 + to.Box.X2 - from.Box.X1 - from.Box.X2) / 2
	other := false
	for _, o := range objects {
		a, b := o.sightAt(from.At), o.sightAt(to.At)
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

var changesTo = map[query.Posture]string{
	query.Sitting: "sits down", query.Standing: "stands up", query.Lying: "lies down",
}

// postures tell how people change their posture. One that is seen in two neighbouring
// samples is believed.
func (s scene) postures(cal answer.Calibration) []event {
	largest := s.largestPerson(cal)
	var out []event
	for _, t := range s.objects {
		if t.noun != irregularNouns["person"] {
			continue
		}
		var now, last query.Posture
		var since float64
		for _, sight := range t.sights {
			p, probability, ok := sight.Posture()
			if !ok || probability < minPostureProbability || area(sight) < minBodyShare*largest[sight.At] {
				continue
			}
			if p != last {
				last, since = p, sight.At
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
		for _, sight := range t.sights {
			if sight.Score >= cal.Threshold {
				largest[sight.At] = max(largest[sight.At], area(sight))
			}
		}
	}
	return largest
}

func area(s answer.TrackPoint) float64 { return (s.Box.X2 - s.Box.X1) * (s.Box.Y2 - s.Box.Y1) }
