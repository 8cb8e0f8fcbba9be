package audit

import (
	"cmp"
	"fmt"
	"slices"
)

// damage are the places of a stream whose history cannot be trusted.
type damage struct {
	events map[int64]bool
	gaps   []gap
	// first is the first damaged version, or 0 when there is none.
	first int64
}

func (d *damage) at(version int64) {
	if d.first == 0 || version < d.first {
		d.first = version
	}
	d.events[version] = true
}

// covers reports whether an event is damaged or missing.
func (d *damage) covers(version int64) bool {
	return d.events[version] || slices.ContainsFunc(d.gaps, func(g gap) bool { return g.first <= version && version <= g.last })
}

// verdict turns the findings of a stream into mismatches, one for each place and kind. It
// leaves out findings that only follow from others.
func (h *history) verdict() []Mismatch {
	d := damage{events: map[int64]bool{}, gaps: h.gaps}
	var proven []finding
	for i, g := range h.gaps {
		d.at(g.first)
		if g.first > h.version {
			// The number of events lost at the end is not known.
			d.gaps = slices.Clone(h.gaps)
			d.gaps[i].last = atEnd
		}
		proven = append(proven, finding{Missing, fromChain, g.first, place{g.first, g.position}, g.String()})
	}
	for _, f := range h.findings {
		if f.source == fromChain && f.kind != Missing {
			d.at(f.version)
		}
	}
	for i, c := range explain(h.links) {
		l := h.links[i]
		f := finding{kind: Altered, version: l.row.Version, at: place{l.row.Version, l.position}}
		switch {
		case c.innocent:
			continue
		case c.belongs > 0:
			f.kind, f.detail = Reordered, fmt.Sprintf("the event was recorded as version %d", c.belongs)
		default:
			f = h.blame(f, l)
		}
		d.at(f.version)
		proven = append(proven, f)
	}
	for _, f := range h.findings {
		switch {
		case f.source == fromEntry && d.covers(f.version):
		case f.source == fromFold && d.first > 0 && f.version >= d.first:
		default:
			proven = append(proven, f)
		}
	}
	return h.name(proven)
}

// blame decides which event at a broken link was altered. An attacker who alters an event
// and computes its hash again breaks the link of the next event, which is innocent. If the
// event before contradicts something else, blame reports that one.
func (h *history) blame(f finding, l *brokenLink) finding {
	f.detail = "the hash does not match the event and the hash before it: this event was altered, or the one before it was altered and hashed again"
	before := f.version - 1
	var suspect *finding
	for i := range h.findings {
		switch other := &h.findings[i]; other.version {
		case f.version:
			return f
		case before:
			suspect = other
		}
	}
	if suspect == nil || slices.ContainsFunc(h.links, func(other *brokenLink) bool { return other.row.Version == before }) {
		return f
	}
	return finding{
		Altered, fromChain, before, place{before, l.beforeAt},
		"the event was altered and hashed again, and the next event does not follow from it (" + suspect.detail + ")",
	}
}

// name combines the findings of one kind at one place into one mismatch.
func (h *history) name(proven []finding) []Mismatch {
	slices.SortStableFunc(proven, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.at.version, b.at.version), cmp.Compare(a.kind, b.kind))
	})
	var named []Mismatch
	for _, f := range proven {
		m := Mismatch{
			AccountID: h.account, Kind: f.kind, Stream: h.head.stream,
			Version: f.at.version, Position: f.at.position, Detail: f.detail,
		}
		if n := len(named) - 1; n >= 0 && named[n].Version == m.Version && named[n].Kind == m.Kind {
			named[n].Detail += "; " + m.Detail
			continue
		}
		named = append(named, m)
	}
	if h.uncounted > 0 {
		named = append(named, Mismatch{
			AccountID: h.account, Kind: Altered, Stream: h.head.stream, Version: h.version, Position: h.position,
			Detail: fmt.Sprintf("%d more mismatches of this stream are not listed", h.uncounted),
		})
	}
	return named
}

func (g gap) String() string {
	if g.first == g.last {
		return fmt.Sprintf("version %d is missing", g.first)
	}
	return fmt.Sprintf("versions %d to %d are missing", g.first, g.last)
}
