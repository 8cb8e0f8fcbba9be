package predicate

import (
	"math"
	"sort"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

var (
	entering = Row{
		Kind: query.KindAction, Form: "entering [from SIDE]", Who: Anything, Needs: Needs{Seconds: lostS}, Moment: true,
		Example: "Does a person enter from the left?",
		Phrases: []string{"coming in", "coming into view", "walking in"},
		Bind:    passage(query.Entering, Track.Enters),
	}
	leaving = Row{
		Kind: query.KindAction, Form: "leaving [toward SIDE]", Who: Anything, Needs: Needs{Seconds: lostS}, Moment: true,
		Example: "Does the dog leave to the right?",
		Phrases: []string{"going out", "going out of view", "walking out"},
		Bind:    passage(query.Leaving, Track.Leaves),
	}
)

// passage binds what happens at an end of a track, by one side of the frame or by any.
func passage(what query.Occurrence, end func(Track) (int, evidence.Side, float64)) func(query.Condition) (Test, bool) {
	return func(c query.Condition) (Test, bool) {
		h, side, ok := c.Occurrence()
		return Test{Along: func(t Track, out []float32) {
			k, at, p := end(t)
			for i := range out {
				out[i] = .02
			}
			if side == "" || evidence.Side(side) == at {
				out[k] = float32(p)
			}
		}}, ok && h == what
	}
}

const (
	// atSide: an object this close to a side of the frame, in frame widths, may be going through it.
	atSide = .03
	// leastWay is the least movement to a side in one sample, in widths of the frame. Less is noise.
	leastWay = .005
	// sideProbability is that of an end of a track at a side. In the middle of the frame the object may
	// have been hidden or missed.
	sideProbability, middleProbability = .9, .45
	// lostS is the longest time for which an object is lost in the middle of the frame, in seconds.
	lostS = 2
	// lostHeights is how far it moves meanwhile, in heights.
	lostHeights = .8
)

// Enters is the probability that the object comes into view with the first point, and by which side.
func (t Track) Enters() (point int, side evidence.Side, p float64) {
	side, p = t.end(0, 1)
	return 0, side, p
}

// Leaves is the probability that the object goes out of view with the last point, and by which side.
func (t Track) Leaves() (point int, side evidence.Side, p float64) {
	last := t.Len() - 1
	side, p = t.end(last, -1)
	return last, side, p
}

// end judges the end of a track at point k. inward leads to its other points.
func (t Track) end(k, inward int) (evidence.Side, float64) {
	frame := int(t.object(k).Frame)
	border, beyond := t.Times[0], frame
	if inward < 0 {
		border, beyond = t.Times[len(t.Times)-1], frame+1
	}
	if math.Abs(border-t.At(k)) < 1.5*t.IntervalS || beyond < len(t.Views) && t.Views[beyond].Cut {
		return "", .02 // it may have been there before the video, or the scene
	}
	side := t.Side(k, inward)
	switch {
	case side != "":
		return side, sideProbability
	case t.goesOn(k, inward):
		return "", .02
	default:
		return "", middleProbability
	}
}

// Side is the side of the frame that the object reaches within a sample of its end, "" for none.
func (t Track) Side(k, inward int) evidence.Side {
	outer, inner := t.Box(k), t.Box(k)
	steps := 1.0
	for i := k + inward; i >= 0 && i < t.Len(); i += inward {
		inner = t.Box(i)
		if steps = math.Abs(t.At(i)-t.At(k)) / t.IntervalS; steps >= .9 {
			break
		}
	}
	var side evidence.Side
	least := atSide
	try := func(s evidence.Side, gap, way float64, cut bool) {
		if way /= steps; t.Len() > 1 && way < leastWay {
			return // it stands at the side
		}
		if !cut {
			gap -= max(0, way)
		}
		if gap < least {
			side, least = s, gap
		}
	}
	try(evidence.Left, outer.X1, inner.X2-outer.X2, outer.X2 > 1-atSide)
	try(evidence.Right, 1-outer.X2, outer.X1-inner.X1, outer.X1 < atSide)
	try(evidence.Top, outer.Y1, inner.Y2-outer.Y2, outer.Y2 > 1-atSide)
	try(evidence.Bottom, 1-outer.Y2, outer.Y1-inner.Y1, outer.Y1 < atSide)
	return side
}

// goesOn reports whether another track continues this one beyond point k.
func (t Track) goesOn(k, inward int) bool {
	tracks, from, to := t.All.begin, t.At(k), t.At(k)+lostS
	end := func(i int) Object { return t.Objects[tracks[i][0]] }
	if inward > 0 {
		tracks, from, to = t.All.end, t.At(k)-lostS, t.At(k)
		end = func(i int) Object { return t.Objects[tracks[i][len(tracks[i])-1]] }
	}
	first := sort.Search(len(tracks), func(i int) bool { return t.Times[end(i).Frame] >= from })
	for i := first; i < len(tracks) && t.Times[end(i).Frame] <= to; i++ {
		o := end(i)
		if o.Frame != t.object(k).Frame && evidence.Distance(t.Box(k), o.Box(), t.Aspect) <= lostHeights {
			return true
		}
	}
	return false
}
