package narrative

import (
	"cmp"
	"maps"
	"slices"

	"vqa/domain/evidence"
)

const (
	// maxCounted is the largest number of objects of one kind whose changes are described one by one.
	maxCounted = 6
	// maxKinds is the number of kinds of objects that one sentence names.
	maxKinds = 6
)

// opening names the objects in view at the beginning.
func (s scene) opening() event {
	there := s.inView(func(o *object) bool { return !s.Views[o.firstFrame()].Cut && s.atStart(o) })
	text := sentence(there, "in view")
	switch {
	case len(s.objects) == 0:
		text = sentence("no object in the video can be named with certainty")
	case there == "":
		text = sentence("at first no object in view can be named with certainty")
	}
	return event{Entry: Entry{Text: text}, rank: rankOpening}
}

// sceneChanges name the objects in view after each cut.
func (s scene) sceneChanges() []event {
	var out []event
	for i, v := range s.Views {
		if !v.Cut || i == 0 {
			continue
		}
		text := sentence("the scene changes")
		if there := s.inView(func(o *object) bool { return o.firstFrame() == i }); there != "" {
			text = sentence("the scene changes:", there, "in view")
		}
		out = append(out, event{Entry{s.Times[i], text}, rankCut, s.endS - s.Times[i]})
	}
	return out
}

// inView lists objects that are there without having come, with their verb: people first, then the objects
// that stay longest. It is empty without an object.
func (s scene) inView(belongs func(*object) bool) string {
	count, seconds := map[noun]int{}, map[noun]float64{}
	for _, o := range s.objects {
		if _, comes := s.comes(o); !comes && belongs(o) {
			count[o.noun] = min(count[o.noun]+1, s.most[o.noun])
			seconds[o.noun] = max(seconds[o.noun], o.seconds())
		}
	}
	if len(count) == 0 {
		return ""
	}
	kinds := slices.SortedFunc(maps.Keys(count), func(a, b noun) int {
		switch person := irregularNouns["person"]; {
		case a == person:
			return -1
		case b == person:
			return 1
		}
		return cmp.Or(cmp.Compare(seconds[b], seconds[a]), cmp.Compare(a.one, b.one))
	})
	var words []string
	for _, k := range kinds[:min(len(kinds), maxKinds)] {
		words = append(words, k.some(count[k]))
	}
	if len(kinds) == 1 && count[kinds[0]] == 1 {
		return words[0] + " is"
	}
	return list(words) + " are"
}

// change is one or more objects of one kind that come or go at the same time and side.
type change struct {
	// frame shows the objects first or last. atS is the time of the entry.
	frame   int
	atS     float64
	noun    noun
	side    evidence.Side
	count   int
	seconds float64
	// alone is true when no other object of the kind is there right before, or right after.
	alone bool
}

// changes are the objects that come into view, and those that go out of it. An object that is lost and another
// one of its kind that appears within a second are left out: they may be one object.
func (s scene) changes() (coming, going []change) {
	for _, o := range s.objects {
		if side, ok := s.goes(o); ok {
			c := change{o.lastFrame(), o.Last(), o.noun, side, 1, o.seconds(), s.alone(o, true)}
			if side == "" {
				c.atS = s.Times[min(o.lastFrame()+1, len(s.Times)-1)]
			}
			going = append(going, c)
		}
	}
	slices.SortStableFunc(going, func(a, b change) int { return cmp.Compare(a.frame, b.frame) })
	for _, o := range s.objects {
		if side, ok := s.comes(o); ok {
			c := change{o.firstFrame(), o.First(), o.noun, side, 1, o.seconds(), s.alone(o, false)}
			if i := s.lostBefore(going, c); i >= 0 {
				going[i].count = 0
			} else {
				coming = append(coming, c)
			}
		}
	}
	return coming, slices.DeleteFunc(going, func(c change) bool { return c.count == 0 })
}

// lostBefore is the index of an object in going that may be the one that appears, or -1.
func (s scene) lostBefore(going []change, c change) int {
	from, _ := slices.BinarySearch(s.Times, c.atS-1-s.IntervalS)
	i, _ := slices.BinarySearchFunc(going, from, func(g change, frame int) int { return cmp.Compare(g.frame, frame) })
	for ; i < len(going) && going[i].frame < c.frame; i++ {
		if g := going[i]; g.count > 0 && g.side == "" && c.side == "" && g.noun == c.noun {
			return i
		}
	}
	return -1
}

// grouped merges equal changes and orders them by time.
func grouped(changes []change) []change {
	slices.SortStableFunc(changes, func(a, b change) int {
		// A change without a side comes last: its entry is later, at the frame that misses it.
		return cmp.Or(cmp.Compare(a.frame, b.frame), cmp.Compare(a.noun.one, b.noun.one), cmp.Compare(b.side, a.side))
	})
	var out []change
	for _, c := range changes {
		if n := len(out); n > 0 && out[n-1].frame == c.frame && out[n-1].noun == c.noun && out[n-1].side == c.side {
			last := &out[n-1]
			last.count, last.seconds, last.alone = last.count+1, max(last.seconds, c.seconds), last.alone && c.alone
			continue
		}
		out = append(out, c)
	}
	return out
}

// appearances describe the objects that come into view.
func (s scene) appearances(coming []change) []event {
	var out []event
	all := grouped(coming)
	for i, c := range all {
		total := s.visible(c.noun, c.frame)
		for _, later := range all[i+1:] {
			if later.frame == c.frame && later.noun == c.noun {
				total -= later.count
			}
			if later.frame != c.frame {
				break
			}
		}
		if total > maxCounted || c.side == "" && c.count >= total && !c.alone {
			continue
		}
		total = max(total, 1)
		count := min(c.count, total)
		what := c.noun.another(count, total)
		text := sentence(what, verb(count, "appears", "appear"))
		if c.side != "" {
			text = sentence(what, verb(count, "enters", "enter"), "from the", string(c.side))
		}
		out = append(out, event{Entry{c.atS, text}, rankAppearing, c.seconds})
	}
	return out
}

// departures describe the objects that go out of view.
func (s scene) departures(going []change) []event {
	var out []event
	gone, goneAt := map[noun]int{}, -1
	for _, c := range grouped(going) {
		if c.frame != goneAt {
			gone, goneAt = map[noun]int{}, c.frame
		}
		total := s.visible(c.noun, c.frame) - gone[c.noun]
		gone[c.noun] += c.count
		if total > maxCounted || c.side == "" && c.count >= total && !c.alone {
			continue
		}
		count := min(c.count, max(total, 1))
		what := c.noun.of(count, total)
		text := sentence(what, verb(count, "is", "are"), "no longer visible")
		switch c.side {
		case evidence.Left, evidence.Right:
			text = sentence(what, verb(count, "leaves", "leave"), "to the", string(c.side))
		case evidence.Top, evidence.Bottom:
			text = sentence(what, verb(count, "leaves", "leave"), "at the", string(c.side))
		}
		out = append(out, event{Entry{c.atS, text}, rankLeaving, c.seconds})
	}
	return out
}
