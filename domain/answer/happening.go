package answer

import (
	"cmp"
	"slices"

	"vqa/domain/query"
)

// event is something that happens to one object.
type event struct {
	what query.Happening
	// side is that of the frame by which it comes or goes, "" for none.
	side Side
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
func happenings(q query.Query, subject query.Subject) []query.Happening {
	var asked []query.Happening
	for _, c := range q.Conditions {
		if h, _, ok := c.Happening(); ok && c.Subject == subject.ID && !slices.Contains(asked, h) {
			asked = append(asked, h)
		}
	}
	return asked
}

// befall finds what happens to the objects of all sightings: along their tracks through the
// frames of both grids.
func befall(all []sighting, asked []query.Happening, classes subjectClasses, ev Evidence, cal Calibration) {
	looks := ev
	looks.Frames = slices.Concat(ev.Frames, ev.Fine)
	type place struct {
		at  float64
		box Box
	}
	events := map[place][]event{}
	tracks := Tracks(looks, cal, classes.names(ev))
	for _, t := range tracks {
		var found []event
		for _, h := range asked {
			switch h {
			case query.Jumping:
				found = append(found, t.jumps()...)
			case query.Falling:
				found = append(found, t.falls(ev.aspect())...)
			default:
				found = append(found, t.passages(h, tracks, ev)...)
			}
		}
		for _, s := range t.Sights {
			events[place{s.At, s.Box}] = found
		}
	}
	for i := range all {
		for k := range all[i].objects {
			o := &all[i].objects[k]
			o.events = events[place{all[i].at, o.Box.inFrame()}]
		}
	}
}

// names are the classes of a subject in the evidence.
func (c subjectClasses) names(ev Evidence) []string {
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
func happening(h query.Happening, side Side, intervalS, threshold float64) fitsOf {
	return func(s sighting) []fitness {
		out := make([]fitness, len(s.objects))
		for i, o := range s.objects {
			out[i] = fitness{Probability: unseen}
			if h == query.Jumping || h == query.Falling {
				out[i].Untold = o.motionless(threshold)
			}
			if h == query.Jumping && len(o.Keypoints) != joints {
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
		return !o.Box.touches(Bottom)
	}
	return !o.motion.known && o.Score >= threshold
}

func (e event) is(h query.Happening, side Side) bool {
	return e.what == h && (side == "" || e.side == side)
}

// momentsOf are the times of the events that are more likely than not, in order.
func momentsOf(all []sighting) []span {
	var found []span
	for _, s := range all {
		for _, o := range s.objects {
			for _, e := range o.events {
				if m := (span{from: e.fromS, to: e.toS}); e.probability >= .5 && !slices.Contains(found, m) {
					found = append(found, m)
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	return found
}
