package answer

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

// occurrence is something that happens to one object.
type occurrence struct {
	kind query.Occurrence
	// side is the side of the frame at which it enters or leaves; "" for none.
	side evidence.Side
	// fromS and toS are the start and the end in seconds.
	fromS, toS  float64
	probability float64
}

// noOccurrenceProbability is the probability of an occurrence that was not found. It is
// higher for a jump of an object without keypoints (unknownJumpProbability). The box of an
// animal that rears and leaps among others does not show that it stayed on the ground.
const (
	noOccurrenceProbability = .04
	unknownJumpProbability  = .25
)

// nearby is the number of samples to either side that count as part of an occurrence. A run
// of three samples is trusted.
const nearby = 2

// askedOccurrences are the kinds of occurrences that a query asks of a subject, without
// repetition.
func askedOccurrences(q query.Query, subject query.Subject) []query.Occurrence {
	var asked []query.Occurrence
	for _, c := range q.Conditions {
		if h, _, ok := c.Occurrence(); ok && c.Subject == subject.ID && !slices.Contains(asked, h) {
			asked = append(asked, h)
		}
	}
	return asked
}

// objectOccurrences is what happens to one object along its track.
type objectOccurrences struct {
	points      []TrackPoint
	occurrences []occurrence
}

// findOccurrences finds what happens to the objects of some classes, along their tracks
// through the samples and the fine frames. They are in the order of their first detections.
func findOccurrences(asked []query.Occurrence, classes subjectClasses, ev evidence.Evidence, cal Calibration) []objectOccurrences {
	both := ev
	both.Frames = slices.Concat(ev.Frames, ev.Fine)
	tracks := tracksOf(both, cal, classes.names(ev), func(s *TrackPoint, d evidence.Detection) { s.limbs = limbsOf(d) })
	all := make([]objectOccurrences, len(tracks))
	for i, t := range tracks {
		all[i].points = t.Points
		for _, h := range asked {
			switch h {
			case query.Jumping:
				all[i].occurrences = append(all[i].occurrences, t.jumps()...)
			case query.Falling:
				all[i].occurrences = append(all[i].occurrences, t.falls(ev.AspectRatio())...)
			default:
				all[i].occurrences = append(all[i].occurrences, t.passages(h, tracks, ev)...)
			}
		}
	}
	return all
}

// attachOccurrences adds to the objects of observations what happens to them.
func attachOccurrences(all iter.Seq[observation], done []objectOccurrences) iter.Seq[observation] {
	return func(yield func(observation) bool) {
		coming, now := done, []objectOccurrences(nil)
		for s := range all {
			for len(coming) > 0 && coming[0].points[0].At <= s.at {
				now, coming = append(now, coming[0]), coming[1:]
			}
			events := map[evidence.Box][]occurrence{}
			now = slices.DeleteFunc(now, func(d objectOccurrences) bool { return d.points[len(d.points)-1].At < s.at })
			for _, d := range now {
				i, seen := slices.BinarySearchFunc(d.points, s.at, func(s TrackPoint, at float64) int { return cmp.Compare(s.At, at) })
				if seen {
					events[d.points[i].Box] = d.occurrences
				}
			}
			for k := range s.objects {
				s.objects[k].occurrences = events[s.objects[k].Box.InFrame()]
			}
			if !yield(s) {
				return
			}
		}
	}
}

// names are the subject's classes among the terms of the evidence.
func (c subjectClasses) names(ev evidence.Evidence) []string {
	var names []string
	for i, term := range ev.Terms {
		if c.mine[i] {
			names = append(names, term)
		}
	}
	return names
}

// occurring is the condition that something happens to an object. The samples nearby count
// as part of the occurrence: it is often over between two samples, and an object that
// enters is not detected before.
func occurring(h query.Occurrence, side evidence.Side, intervalS, threshold float64) condition {
	return func(s observation) []fit {
		out := make([]fit, len(s.objects))
		for i, o := range s.objects {
			out[i] = fit{Probability: noOccurrenceProbability}
			if h == query.Jumping || h == query.Falling {
				out[i].Unknown = o.motionUnknown(threshold)
			}
			if h == query.Jumping && len(o.Keypoints) != evidence.NumKeypoints {
				out[i].Probability = unknownJumpProbability
			}
			for _, e := range o.occurrences {
				if e.is(h, side) && s.at >= e.fromS-nearby*intervalS && s.at <= e.toS+nearby*intervalS {
					out[i].Probability = max(out[i].Probability, e.probability)
				}
			}
		}
		return out
	}
}

// motionUnknown reports whether the video cannot show what the body does. That is so in a
// still picture, unless the body is cut off at the bottom. A picture of a jump or a fall is
// hardly ever cut off there. It is also so for an object with a sure score that was
// detected only once.
func (o object) motionUnknown(threshold float64) bool {
	if o.motion.still {
		return !o.Box.Touches(evidence.Bottom)
	}
	return !o.motion.known && o.Score >= threshold
}

func (e occurrence) is(h query.Occurrence, side evidence.Side) bool {
	return e.kind == h && (side == "" || e.side == side)
}

// occurrenceTimes are the times of the occurrences that are more likely than not, in order.
func occurrenceTimes(all iter.Seq[observation]) []interval {
	found := map[interval]bool{}
	for s := range all {
		for _, o := range s.objects {
			for _, e := range o.occurrences {
				if e.probability >= .5 {
					found[interval{from: e.fromS, to: e.toS}] = true
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b interval) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
}
