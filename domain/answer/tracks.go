package answer

import (
	"slices"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

// TrackPoint is one object in one frame.
type TrackPoint struct {
	// At is the time of the frame in seconds from the start of the video.
	At float64
	// Term, Score and Box are those of the detection. The box is cut to the frame.
	Term  int
	Score float64
	Box   evidence.Box

	// stance is nil when the keypoints do not show it. limbs are set only for occurrences.
	stance *stance
	limbs  limbs
}

// Track is one object through the samples of a video.
type Track struct {
	// Points are ordered by At, at least one, at most one in a frame. Their boxes lie
	// within the frame.
	Points []TrackPoint
	// Trusted is true when two neighboring points reach the threshold of the calibration,
	// or one reaches its peak. The runs of an answer follow the same rule. In a video of
	// one frame, one point at the threshold is enough.
	Trusted bool
}

// Tracks links the detections of some classes to objects, in the order of their first
// detections. Detections of different classes at one place are one object, of the class
// that scores best there. Detections below Keep are not followed. The frames may be on
// several grids, if IntervalS is that of the widest.
func Tracks(ev evidence.Evidence, cal Calibration, classes []string) []Track {
	return tracksOf(ev, cal, classes, func(s *TrackPoint, d evidence.Detection) {
		b := body{box: d.Box, joints: d.Keypoints}
		if len(d.Keypoints) != evidence.NumKeypoints || !(b.height() > 0) {
			return
		}
		if known := b.stance(); known.upright {
			s.stance = &known
		}
	})
}

// tracksOf is Tracks, with note called for each point to record what the keypoints show.
// The keypoints themselves are not kept: those of hours do not fit in memory.
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

// objectsIn returns the objects of a frame, best first. The order of the detections does
// not matter.
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

// Term is the class with the largest sum of scores over the track.
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

// Posture is the most probable posture of the body (standing, sitting or lying) with its
// probability. ok is false when the keypoints do not show it.
func (s TrackPoint) Posture() (p query.Posture, probability float64, ok bool) {
	if s.stance == nil {
		return "", 0, false
	}
	switch known := *s.stance; max(known.stands, known.sits, known.lies) {
	case known.stands:
		return query.Standing, known.stands, true
	case known.sits:
		return query.Sitting, known.sits, true
	default:
		return query.Lying, known.lies, true
	}
}
