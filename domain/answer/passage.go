package answer

import (
	"math"
	"slices"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

// Comes reports whether a track comes into view after firstS, the time of the first sample,
// and the side that it comes from, "" when it comes from none. What is seen first in the
// second sample, and comes from no side, may have been missed in the first.
func (t Track) Comes(firstS, intervalS float64) (from evidence.Side, ok bool) {
	from = t.Entry(intervalS)
	late := t.Points[0].At - firstS
	return from, late > 0 && (late >= 1.5*intervalS || from != "")
}

// Goes is the same for a track that goes out of view before lastS, the time of the last
// sample.
func (t Track) Goes(lastS, intervalS float64) (to evidence.Side, ok bool) {
	to = t.Exit(intervalS)
	early := lastS - t.last().At
	return to, early > 0 && (early >= 1.5*intervalS || to != "")
}

// Entry is the side that a track comes from, "" when it comes from none.
func (t Track) Entry(intervalS float64) evidence.Side {
	outer, inner := t.Points[0], t.last()
	for _, s := range t.Points {
		if s.At-outer.At >= .9*intervalS {
			inner = s
			break
		}
	}
	return crossed(outer, inner, intervalS)
}

// Exit is the side that a track goes to, "" when it goes to none.
func (t Track) Exit(intervalS float64) evidence.Side {
	outer, inner := t.last(), t.Points[0]
	for i := range t.Points {
		if s := t.Points[len(t.Points)-1-i]; outer.At-s.At >= .9*intervalS {
			inner = s
			break
		}
	}
	return crossed(outer, inner, intervalS)
}

// crossed is the side of the frame that a thing touches, or will within a sample, as it
// goes on from its place inside to its outer one. A box that is cut off by the frame
// tells by its inner border which way the thing goes.
func crossed(outer, inner TrackPoint, intervalS float64) evidence.Side {
	const least = .01 // of the frame in a sample: less is noise
	steps := math.Abs(outer.At-inner.At) / intervalS
	o, i := outer.Box, inner.Box
	var found evidence.Side
	fastest := least
	try := func(to evidence.Side, gap, way float64, opposite bool) {
		if way /= steps; way > fastest && gap-way <= evidence.Border && !opposite {
			found, fastest = to, way
		}
	}
	try(evidence.Left, o.X1, i.X2-o.X2, o.X2 >= 1-evidence.Border)
	try(evidence.Right, 1-o.X2, o.X1-i.X1, o.X1 <= evidence.Border)
	try(evidence.Top, o.Y1, i.Y2-o.Y2, o.Y2 >= 1-evidence.Border)
	try(evidence.Bottom, 1-o.Y2, o.Y1-i.Y1, o.Y1 <= evidence.Border)
	return found
}

// The probabilities that what is seen to come or go does: by the left or the right side of
// the frame; by the others, where it may also bow or fall; or where nothing shows from where,
// and it may have been hidden or missed.
const (
	atSideProbability        = .85
	atTopOrBottomProbability = .6
	inMiddleProbability      = .4
)

// passageS is how long it takes at most to come into the frame, or to go, in seconds.
const passageS = 2

// passages are the coming or the going of a track, unless another one of all goes before or
// after it where it begins or ends: then it was lost in between.
func (t Track) passages(h query.Occurrence, all []Track, ev evidence.Evidence) []occurrence {
	lost := func(u Track) bool {
		return h == query.Entering && t.goesOn(u, ev.AspectRatio()) || h == query.Leaving && u.goesOn(t, ev.AspectRatio())
	}
	if !t.Trusted || len(ev.Frames) == 0 || slices.ContainsFunc(all, lost) {
		return nil
	}
	sights := slices.Clone(t.Points)
	side, ok := t.Comes(ev.Frames[0].At, ev.IntervalS)
	if h == query.Leaving {
		side, ok = t.Goes(ev.Frames[len(ev.Frames)-1].At, ev.IntervalS)
		slices.Reverse(sights)
	}
	if !ok {
		return nil
	}
	outer, inner := sights[0], sights[0]
	for _, s := range sights {
		if math.Abs(s.At-outer.At) > passageS || side == "" {
			break
		}
		if inner = s; !s.Box.Touches(side) {
			break
		}
	}
	e := occurrence{kind: h, side: side, fromS: min(outer.At, inner.At), toS: max(outer.At, inner.At)}
	switch side {
	case evidence.Left, evidence.Right:
		e.probability = atSideProbability
	case evidence.Top, evidence.Bottom:
		e.probability = atTopOrBottomProbability
	default:
		e.probability = inMiddleProbability
	}
	return []occurrence{e}
}

// goesOn reports whether a track begins near where another one shortly before ended.
func (t Track) goesOn(u Track, aspect float64) bool {
	const near = 1 // of its heights
	gap := t.Points[0].At - u.last().At
	return gap > 0 && gap <= passageS && evidence.Distance(t.Points[0].Box, u.last().Box, aspect) <= near
}

func (t Track) last() TrackPoint { return t.Points[len(t.Points)-1] }
