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
	// leg is the least way, in widths of the frame, that is told.
	leg = .25
	// sway is the way under which a thing has not set out yet.
	sway = .05
	// held is the probability from which a posture is believed.
	held = .7
	// background is the share of the largest body's area under which a body is scenery
	// whose joints cannot be told.
	background = .2
)

// way is a stretch of a thing's sights in which it goes to one side.
type way struct {
	first, last int
	to          evidence.Side
}

// waysOf cuts the path of a thing at its turning points: where it comes back by a leg.
func waysOf(t *thing) []way {
	var out []way
	low, high, turn, far := 0, 0, 0, 0
	var to evidence.Side
	for i := range t.sights {
		x := t.x(i)
		if x < t.x(low) {
			low = i
		}
		if x > t.x(high) {
			high = i
		}
		switch {
		case to == "" && x-t.x(low) >= leg:
			to, turn, far = evidence.Right, low, i
		case to == "" && t.x(high)-x >= leg:
			to, turn, far = evidence.Left, high, i
		case to == evidence.Right && x > t.x(far), to == evidence.Left && x < t.x(far):
			far = i
		case to == evidence.Right && t.x(far)-x >= leg:
			out = append(out, way{turn, far, to})
			to, turn, far = evidence.Left, far, i
		case to == evidence.Left && x-t.x(far) >= leg:
			out = append(out, way{turn, far, to})
			to, turn, far = evidence.Right, far, i
		}
	}
	if to != "" {
		out = append(out, way{turn, far, to})
	}
	for k, w := range out {
		for i := w.first; i <= w.last; i++ {
			if math.Abs(t.x(i)-t.x(w.first)) < sway {
				out[k].first = i
			}
		}
	}
	return out
}

// x is the centre of a sight across the frame.
func (t *thing) x(i int) float64 { return (t.sights[i].Box.X1 + t.sights[i].Box.X2) / 2 }

// movements tell which way things go, but for what their coming and leaving tells.
func (s scene) movements() []event {
	type move struct {
		t        *thing
		from, to answer.TrackPoint
		side     evidence.Side
	}
	var moves []move
	for _, t := range s.things {
		for _, w := range waysOf(t) {
			comes := w.first == 0 && !s.fromBeginning(t) && s.enters(t) != "" && s.enters(t) != w.to
			goes := w.last == len(t.sights)-1 && !s.toEnd(t) && s.leaves(t) == w.to
			if !comes && !goes {
				moves = append(moves, move{t, t.sights[w.first], t.sights[w.last], w.to})
			}
		}
	}
	slices.SortStableFunc(moves, func(a, b move) int { return cmp.Compare(a.from.At, b.from.At) })
	var out []event
	var live []*thing
	coming := s.things
	for _, m := range moves {
		for len(coming) > 0 && coming[0].first().At <= m.from.At {
			live, coming = append(live, coming[0]), coming[1:]
		}
		live = slices.DeleteFunc(live, func(t *thing) bool { return t.last().At < m.from.At })
		if total := s.visible(m.t.noun, m.from.At); total <= crowd && !panned(m.t, live, m.from, m.to) {
			text := sentence(m.t.noun.of(1, total), "moves to the", string(m.side))
			out = append(out, event{Entry{m.from.At, text}, rankMoving, m.t.seconds()})
		}
	}
	return out
}

// panned reports whether all others of some things, at least one of another kind, go the
// same way meanwhile: then it is the camera that moves.
func panned(t *thing, things []*thing, from, to answer.TrackPoint) bool {
	const alike = .6 // of the way
	dx := (to.Box.X1 + to.Box.X2 - from.Box.X1 - from.Box.X2) / 2
	other := false
	for _, o := range things {
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
	for _, t := range s.things {
		if t.noun != odd["person"] {
			continue
		}
		var now, last query.Posture
		var since float64
		for _, sight := range t.sights {
			p, probability, ok := sight.Posture()
			if !ok || probability < held || size(sight) < background*largest[sight.At] {
				continue
			}
			if p != last {
				last, since = p, sight.At
				continue
			}
			if total := s.visible(t.noun, since); now != "" && p != now && total <= crowd {
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
	people := slices.DeleteFunc(slices.Clone(s.things), func(t *thing) bool { return t.noun != odd["person"] })
	for _, t := range people {
		for _, sight := range t.sights {
			if sight.Score >= cal.Threshold {
				largest[sight.At] = max(largest[sight.At], size(sight))
			}
		}
	}
	return largest
}

func size(s answer.TrackPoint) float64 { return (s.Box.X2 - s.Box.X1) * (s.Box.Y2 - s.Box.Y1) }
