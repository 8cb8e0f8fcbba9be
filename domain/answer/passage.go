package answer

import (
	"math"
	"slices"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

// Enters reports whether a track comes into view after firstS, the time of the first sample.
// from is the side it comes from, "" for none. A track that starts in the second sample,
// and not at a side, may have been missed in the first.
func (t Track) Enters(firstS, intervalS float64) (from evidence.Side, ok bool) {
	from = t.Entry(intervalS)
	late := t.Points[0].At - firstS
	return from, late > 0 && (late >= 1.5*intervalS || from != "")
}

// Leaves reports whether a track goes out of view before lastS, the time of the last sample.
// to is the side it leaves at, "" for none.
func (t Track) Leaves(lastS, intervalS float64) (to evidence.Side, ok bool) {
	to = t.Exit(intervalS)
	early := lastS - t.last().At
	return to, early > 0 && (early >= 1.5*intervalS || to != "")
}

// Entry is the side of the frame that a track comes from, "" for none.
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

// Exit is the side of the frame that a track goes to, "" for none.
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

// crossed is the side of the frame that an object touches at its outer point, "" for none.
// The object may also reach the side within a sample, if it goes on from its inner to its
// outer point. The direction of a box that the frame cuts off follows from its inner
// border.
func crossed(outer, inner TrackPoint, intervalS float64) evidence.Side {
	const least = .01 // of the frame per sample: less is noise
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

// These are the probabilities that an object which seems to enter or leave does so. At the
// top or the bottom of the frame it may also bend or fall. In the middle of the frame it
// may have been hidden or missed.
const (
	atSideProbability        = .85
	atTopOrBottomProbability = .6
	inMiddleProbability      = .4
)

// passageS is the longest time that entering or leaving takes, in seconds.
const passageS = 2

// passages finds where a track enters or leaves. There is none when another track ends at
// about the same place shortly before its start, or begins there shortly after its end.
// Then the object was lost in between.
func (t Track) passages(h query.Occurrence, all []Track, ev evidence.Evidence) []occurrence {
	lost := func(u Track) bool {
		return h == query.Entering && t.continues(u, ev.AspectRatio()) || h == query.Leaving && u.continues(t, ev.AspectRatio())
	}
	if !t.Trusted || len(ev.Frames) == 0 || slices.ContainsFunc(all, lost) {
		return nil
	}
	points := slices.Clone(t.Points)
	side, ok := t.Enters(ev.Frames[0].At, ev.IntervalS)
	if h == query.Leaving {
		side, ok = t.Leaves(ev.Frames[len(ev.Frames)-1].At, ev.IntervalS)
		slices.Reverse(points)
	}
	if !ok {
		return nil
	}
	outer, inner := points[0], points[0]
	for _, s := range points {
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

// continues reports whether a track begins near the place where another one ended shortly
// before.
func (t Track) continues(u Track, aspect float64) bool {
	const near = 1 // in heights of the object
	gap := t.Points[0].At - u.last().At
	return gap > 0 && gap <= passageS && evidence.Distance(t.Points[0].Box, u.last().Box, aspect) <= near
}

func (t Track) last() TrackPoint { return t.Points[len(t.Points)-1] }
