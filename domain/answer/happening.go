package answer

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

// event is something that happens to one object.
type event struct {
	what query.Occurrence
	// side is that of the frame by which it comes or goes, "" for none.
	side evidence.Side
	// fromS and toS are when it begins and ends, in seconds.
	fromS, toS  float64
	probability float64
}

// unseen is the probability that something happened to an object of which no event was
// found, and missed that of a jump where there are no joints: the box of an animal that
// rears and leaps among others does not tell for sure that it stayed on the ground.
const (
	unseen = .04
	missed = .25
)

// nearby is how many samples to either side of an event tell of it: with three a run is
// trusted.
const nearby = 2

// happenings are the different things that are asked to happen to a subject.
func happenings(q query.Query, subject query.Subject) []query.Occurrence {
	var asked []query.Occurrence
	for _, c := range q.Conditions {
		if h, _, ok := c.Occurrence(); ok && c.Subject == subject.ID && !slices.Contains(asked, h) {
			asked = append(asked, h)
		}
	}
	return asked
}

// deed is what happens to one object along its track.
type deed struct {
	sights []Sight
	events []event
}

// deeds finds what happens to the objects of some classes: along their tracks through the
// frames of both grids, in the order of their first sights.
func deeds(asked []query.Occurrence, classes subjectClasses, ev evidence.Evidence, cal Calibration) []deed {
	looks := ev
	looks.Frames = slices.Concat(ev.Frames, ev.Fine)
	tracks := tracksOf(looks, cal, classes.names(ev), func(s *Sight, d evidence.Detection) { s.limbs = limbsOf(d) })
	all := make([]deed, len(tracks))
	for i, t := range tracks {
		all[i].sights = t.Sights
		for _, h := range asked {
			switch h {
			case query.Jumping:
				all[i].events = append(all[i].events, t.jumps()...)
			case query.Falling:
				all[i].events = append(all[i].events, t.falls(ev.AspectRatio())...)
			default:
				all[i].events = append(all[i].events, t.passages(h, tracks, ev)...)
			}
		}
	}
	return all
}

// befall tells the objects of sightings what happens to them.
func befall(all iter.Seq[sighting], done []deed) iter.Seq[sighting] {
	return func(yield func(sighting) bool) {
		coming, now := done, []deed(nil)
		for s := range all {
			for len(coming) > 0 && coming[0].sights[0].At <= s.at {
				now, coming = append(now, coming[0]), coming[1:]
			}
			events := map[evidence.Box][]event{}
			now = slices.DeleteFunc(now, func(d deed) bool { return d.sights[len(d.sights)-1].At < s.at })
			for _, d := range now {
				i, seen := slices.BinarySearchFunc(d.sights, s.at, func(s Sight, at float64) int { return cmp.Compare(s.At, at) })
				if seen {
					events[d.sights[i].Box] = d.events
				}
			}
			for k := range s.objects {
				s.objects[k].events = events[s.objects[k].Box.InFrame()]
			}
			if !yield(s) {
				return
			}
		}
	}
}

// names are the classes of a subject in the evidence.
func (c subjectClasses) names(ev evidence.Evidence) []string {
	var names []string
	for i, term := range ev.Terms {
		if c.mine[i] {
			names = append(names, term)
		}
	}
	return names
}

// happening judges by the events of an object. The samples nearby count as those of an event:
// what is over within moments lies between two, and who comes is not seen before.
func happening(h query.Occurrence, side evidence.Side, intervalS, threshold float64) fitsOf {
	return func(s sighting) []fitness {
		out := make([]fitness, len(s.objects))
		for i, o := range s.objects {
			out[i] = fitness{Probability: unseen}
			if h == query.Jumping || h == query.Falling {
				out[i].Untold = o.motionless(threshold)
			}
			if h == query.Jumping && len(o.Keypoints) != evidence.NumKeypoints {
				out[i].Probability = missed
			}
			for _, e := range o.events {
				if e.is(h, side) && s.at >= e.fromS-nearby*intervalS && s.at <= e.toS+nearby*intervalS {
					out[i].Probability = max(out[i].Probability, e.probability)
				}
			}
		}
		return out
	}
}

// motionless reports whether nothing tells what a body does: in a still picture, unless the
// body is cut off at the bottom, which a picture of a jump or a fall hardly is; or where it is
// sure that it is there, but seen once.
func (o object) motionless(threshold float64) bool {
	if o.motion.picture {
		return !o.Box.Touches(evidence.Bottom)
	}
	return !o.motion.known && o.Score >= threshold
}

func (e event) is(h query.Occurrence, side evidence.Side) bool {
	return e.what == h && (side == "" || e.side == side)
}

// momentsOf are the times of the events that are more likely than not, in order.
func momentsOf(all iter.Seq[sighting]) []span {
	found := map[span]bool{}
	for s := range all {
		for _, o := range s.objects {
			for _, e := range o.events {
				if e.probability >= .5 {
					found[span{from: e.fromS, to: e.toS}] = true
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
}
