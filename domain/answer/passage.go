package answer

import (
	"vqa/domain/answer/predicate"
	"vqa/domain/evidence"
)

// along is a track as predicates see it, of a camera that stands.
func (t Track) along(intervalS, aspect float64) predicate.Track {
	s := &predicate.Scene{IntervalS: intervalS, Aspect: aspect}
	out := predicate.Track{Scene: s}
	for i, p := range t.Points {
		s.Times, s.Views = append(s.Times, p.At), append(s.Views, evidence.View{})
		out.Objects = append(out.Objects, predicate.Object{
			Frame: int32(i), X1: float32(p.Box.X1), Y1: float32(p.Box.Y1), X2: float32(p.Box.X2), Y2: float32(p.Box.Y2),
		})
		out.Index = append(out.Index, int32(i))
	}
	return out
}

// Entry is the side of the frame that a track comes from, "" for none. An answer to "does it enter" has
// the same rule.
func (t Track) Entry(intervalS float64) evidence.Side { return t.along(intervalS, 1).Side(0, 1) }

// Exit is the side of the frame that a track goes to, "" for none.
func (t Track) Exit(intervalS float64) evidence.Side {
	return t.along(intervalS, 1).Side(len(t.Points)-1, -1)
}

// Enters reports whether a track comes into view after firstS, the time of the first sample, and the side
// it comes from, "" for none. One that starts in the second sample, and not at a side, may have been
// missed in the first.
func (t Track) Enters(firstS, intervalS float64) (from evidence.Side, ok bool) {
	from = t.Entry(intervalS)
	late := t.Points[0].At - firstS
	return from, late > 0 && (late >= 1.5*intervalS || from != "")
}

// Leaves reports whether a track goes out of view before lastS, the time of the last sample, and the side
// it leaves at, "" for none.
func (t Track) Leaves(lastS, intervalS float64) (to evidence.Side, ok bool) {
	to = t.Exit(intervalS)
	early := lastS - t.Points[len(t.Points)-1].At
	return to, early > 0 && (early >= 1.5*intervalS || to != "")
}

// Posture is the most probable posture of a person (standing, sitting or lying) with its probability. ok
// is false when the keypoints do not show it.
func (s TrackPoint) Posture() (p string, probability float64, ok bool) {
	switch known := s.Stance; max(known.Stands, known.Sits, known.Lies) {
	case known.Stands:
		return "standing", known.Stands, known.Upright
	case known.Sits:
		return "sitting", known.Sits, known.Upright
	default:
		return "lying", known.Lies, known.Upright
	}
}
