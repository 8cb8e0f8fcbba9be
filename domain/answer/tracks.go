package answer

import (
	"slices"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

// Sight is an object in one frame.
type TrackPoint struct {
	// At is the time of the frame in seconds from the start of the video.
	At float64
	// Term, Score and Box are those of its Detection, what is out of the frame cut off.
	Term  int
	Score float64
	Box   evidence.Box

	// stance is nil where the joints do not tell it; limbs are told for happenings alone.
	stance *stance
	limbs  limbs
}

// Track is one object through the samples of a video.
type Track struct {
	// Sights are at least one, ordered by At, at most one a frame; their boxes lie
	// within the frame.
	Points []TrackPoint
	// Trusted: two neighbouring sights pass the threshold of the calibration or one
	// passes its peak, as for the runs of an answer; in a video of one frame, the
	// sight passes the threshold.
	Trusted bool
}

// Tracks joins the detections of some classes into objects, in the order of their first
// sights. Detections of different classes at one place are one object, of the class
// that scores best there. What scores less than Keep is not followed. The frames may be of
// several grids, if IntervalS is that of the widest.
func Tracks(ev evidence.Evidence, cal Calibration, classes []string) []Track {
	return tracksOf(ev, cal, classes, func(s *TrackPoint, d evidence.Detection) {
		b := body{box: d.Box, joints: d.Keypoints}
		if len(d.Keypoints) != evidence.NumKeypoints || !(b.height() > 0) {
			return
		}
		if told := b.stance(); told.upright {
			s.stance = &told
		}
	})
}

// tracksOf are Tracks of which note keeps what is asked of the joints: hours of them are
// more than belongs in memory.
func tracksOf(ev evidence.Evidence, cal Calibration, classes []string, note func(*TrackPoint, evidence.Detection)) []Track {
	mine := make([]bool, len(ev.Terms))
	for i, term := range ev.Terms {
		mine[i] = slices.Contains(classes, term)
	}
	frames := ev.Ordered()
	l := evidence.Linker{IntervalS: ev.IntervalS, Aspect: ev.AspectRatio(), Keep: cal.Keep, SameKind: evidence.Object.SharesTerm}
	var out []Track
	for _, f := range frames {
		f = f.Load(true)
		objects := objectsIn(f, mine, cal)
		for k, n := range l.Link(f.At, f.Shades, objects, nil) {
			if n < 0 {
				continue
			}
			if n == len(out) {
				out = append(out, Track{})
			}
			d := objects[k].Detection
			seen := TrackPoint{At: f.At, Term: d.Term, Score: d.Score, Box: d.Box}
			note(&seen, d)
			out[n].Points = append(out[n].Points, seen)
		}
	}
	for i, t := range out {
		out[i].Trusted = t.trusted(ev.IntervalS, cal) || len(frames) == 1 && t.Points[0].Score >= cal.Threshold
	}
	return out
}

// objectsIn are the objects of a frame, best first, whatever the order of its detections.
func objectsIn(f evidence.Frame, mine []bool, cal Calibration) []*evidence.Object {
	var all []evidence.Detection
	for _, d := range f.Detections {
		if d.Term >= 0 && d.Term < len(mine) && mine[d.Term] && d.Score > 0 && d.Score >= cal.Keep {
			d.Score, d.Box = min(d.Score, 1), d.Box.InFrame()
			all = append(all, d)
		}
	}
	slices.SortFunc(all, bestFirst)
	var kept []*evidence.Object
	for _, d := range all {
		again := slices.IndexFunc(kept, func(k *evidence.Object) bool { return k.Term != d.Term && evidence.IoU(k.Box, d.Box) >= cal.Overlap })
		switch {
		case again >= 0:
			kept[again].OtherTerms = append(kept[again].OtherTerms, d.Term)
		case len(kept) < evidence.MaxLinked:
			kept = append(kept, &evidence.Object{Detection: d})
		}
	}
	return kept
}

func (t *Track) trusted(intervalS float64, cal Calibration) bool {
	for i, s := range t.Points {
		if s.Score >= cal.Peak {
			return true
		}
		if i > 0 && s.Score >= cal.Threshold && t.Points[i-1].Score >= cal.Threshold &&
			neighbors(t.Points[i-1].At, s.At, intervalS) {
			return true
		}
	}
	return false
}

// Term is the class that the object was seen as, by the sum of its scores.
func (t Track) Term() int {
	votes := map[int]float64{}
	for _, s := range t.Points {
		votes[s.Term] += s.Score
	}
	best := t.Points[0].Term
	for term, vote := range votes {
		if vote > votes[best] || vote == votes[best] && term < best {
			best = term
		}
	}
	return best
}

// Posture is how the body in the box is held, of standing, sitting and lying, and its
// probability; ok is false when the joints do not tell.
func (s TrackPoint) Posture() (p query.Posture, probability float64, ok bool) {
	if s.stance == nil {
		return "", 0, false
	}
	switch told := *s.stance; max(told.stands, told.sits, told.lies) {
	case told.stands:
		return query.Standing, told.stands, true
	case told.sits:
		return query.Sitting, told.sits, true
	default:
		return query.Lying, told.lies, true
	}
}
