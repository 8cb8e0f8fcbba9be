package narrative

import (
	"cmp"
	"slices"

	"vqa/domain/answer"
	"vqa/domain/evidence"
)

const (
	// maxCounted is the largest number of objects of one kind whose changes are described one
	// by one.
	maxCounted = 6
	// maxKinds is the number of kinds of objects that one sentence names.
	maxKinds = 6
)

// opening names the objects in view at the beginning.
func (s scene) opening() event {
	e := event{rank: rankOpening}
	switch there := s.inView(func(t *object) bool { return s.presentAtStart(t) }); {
	case len(s.objects) == 0:
		e.Text = sentence("no object in the video can be named with certainty")
	case there == "":
		e.Text = sentence("at first no object in view can be named with certainty")
	default:
		e.Text = sentence(there, "in view")
	}
	return e
}

// sceneChanges name the objects in view after each cut.
func (s scene) sceneChanges() []event {
	var out []event
	for _, i := range s.cuts {
		at := s.at[i]
		there := s.inView(func(t *object) bool { return t.first().At == at })
		out = append(out, event{Entry{at, sentence("the scene changes:", there, "in view")}, rankCut, s.endS - at})
	}
	return out
}

// inView lists objects with their verb: people first, then the objects that stay longest. It is
// empty without an object.
func (s scene) inView(belongs func(*object) bool) string {
	type kind struct {
		noun    noun
		count   int
		seconds float64
	}
	var kinds []kind
	for _, t := range s.objects {
		if !belongs(t) {
			continue
		}
		k := slices.IndexFunc(kinds, func(k kind) bool { return k.noun == t.noun })
		if k < 0 {
			k = len(kinds)
			kinds = append(kinds, kind{noun: t.noun})
		}
		kinds[k].count++
		kinds[k].seconds = max(kinds[k].seconds, t.seconds())
	}
	slices.SortStableFunc(kinds, func(a, b kind) int {
		switch person := irregularNouns["person"]; {
		case a.noun == person:
			return -1
		case b.noun == person:
			return 1
		}
		return cmp.Or(cmp.Compare(b.seconds, a.seconds), cmp.Compare(a.noun.one, b.noun.one))
	})
	var words []string
	for _, k := range kinds[:min(len(kinds), maxKinds)] {
		words = append(words, k.noun.some(k.count))
	}
	switch {
	case len(kinds) == 0:
		return ""
	case len(kinds) == 1 && kinds[0].count == 1:
		return words[0] + " is"
	}
	return list(words) + " are"
}

// entrySide is the side of the frame by which an object enters, or empty.
func (s scene) entrySide(t *object) evidence.Side { return t.track().Entry(s.intervalS) }

// exitSide is the side of the frame by which an object leaves, or empty.
func (s scene) exitSide(t *object) evidence.Side { return t.track().Exit(s.intervalS) }

func (t *object) track() answer.Track { return answer.Track{Points: t.points} }

// presentAtStart reports whether an object is in view from the first sample on. A track that
// begins a little later may count as well (answer.Track.Comes).
func (s scene) presentAtStart(t *object) bool {
	_, comes := t.track().Enters(s.at[0], s.intervalS)
	return !comes
}

// presentAtEnd reports whether an object is in view until the last sample.
func (s scene) presentAtEnd(t *object) bool {
	_, goes := t.track().Leaves(s.at[len(s.at)-1], s.intervalS)
	return !goes
}

// change is one or more objects of one kind that come or go at the same sample and side.
type change struct {
	// sampleS is the sample that shows the object first or last. exactS is the time of the
	// entry.
	sampleS, exactS float64
	noun            noun
	side            evidence.Side
	count           int
	seconds         float64
}

// groupChanges merges equal changes and orders them by time.
func groupChanges(changes []change) []change {
	slices.SortStableFunc(changes, func(a, b change) int {
		// A change without a side comes last: its entry is later, at the sample that misses it.
		return cmp.Or(cmp.Compare(a.sampleS, b.sampleS), cmp.Compare(a.noun.one, b.noun.one), cmp.Compare(b.side, a.side))
	})
	var out []change
	for _, c := range changes {
		if n := len(out); n > 0 && out[n-1].sampleS == c.sampleS && out[n-1].noun == c.noun && out[n-1].side == c.side {
			out[n-1].count++
			out[n-1].exactS = min(out[n-1].exactS, c.exactS)
			out[n-1].seconds = max(out[n-1].seconds, c.seconds)
			continue
		}
		out = append(out, c)
	}
	return out
}

// before returns the time of the last sample before at, or of the first sample.
func (s scene) before(at float64) float64 {
	i, _ := slices.BinarySearch(s.at, at)
	return s.at[max(i-1, 0)]
}

// appearances describe the objects that come into view.
func (s scene) appearances() []event {
	var changes []change
	for _, t := range s.objects {
		at := t.first().At
		if s.presentAtStart(t) || slices.ContainsFunc(s.cuts, func(i int) bool { return s.at[i] == at }) {
			continue
		}
		changes = append(changes, change{at, s.fine.firstSeen(t, s.before(at)), t.noun, s.entrySide(t), 1, t.seconds()})
	}
	var out []event
	all := groupChanges(changes)
	for i, c := range all {
		total := s.visible(c.noun, c.sampleS)
		for _, later := range all[i+1:] {
			if later.sampleS != c.sampleS {
				break
			}
			if later.noun == c.noun {
				total -= later.count
			}
		}
		if total > maxCounted {
			continue
		}
		what := c.noun.another(c.count, total)
		text := sentence(what, verb(c.count, "appears", "appear"))
		if c.side != "" {
			text = sentence(what, verb(c.count, "enters", "enter"), "from the", string(c.side))
		}
		out = append(out, event{Entry{c.exactS, text}, rankAppearing, c.seconds})
	}
	return out
}

// departures describe the objects that go out of view.
func (s scene) departures() []event {
	var changes []change
	for _, t := range s.objects {
		at := t.last().At
		if s.presentAtEnd(t) || s.cutBetween(at, at+1.5*s.intervalS) {
			continue
		}
		to := s.exitSide(t)
		exact := at // an object that leaves by a side is last seen there
		if to == "" {
			exact = s.fine.firstMissed(t, at+s.intervalS)
		}
		changes = append(changes, change{at, exact, t.noun, to, 1, t.seconds()})
	}
	var out []event
	gone, goneAt := map[noun]int{}, -1.0
	for _, c := range groupChanges(changes) {
		if c.sampleS != goneAt {
			gone, goneAt = map[noun]int{}, c.sampleS
		}
		total := s.visible(c.noun, c.sampleS) - gone[c.noun]
		gone[c.noun] += c.count
		if total > maxCounted {
			continue
		}
		what := c.noun.of(c.count, total)
		text := sentence(what, verb(c.count, "is", "are"), "no longer in view")
		switch c.side {
		case evidence.Left, evidence.Right:
			text = sentence(what, verb(c.count, "leaves", "leave"), "to the", string(c.side))
		case evidence.Top, evidence.Bottom:
			text = sentence(what, verb(c.count, "leaves", "leave"), "at the", string(c.side))
		}
		out = append(out, event{Entry{c.exactS, text}, rankLeaving, c.seconds})
	}
	return out
}
