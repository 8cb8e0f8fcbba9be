package audit

import (
	"fmt"
	"math"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

// stored is an event as a reader reads it from the log.
type stored struct {
	version, position int64
	account           string
	// chain is the stored hash of the event.
	chain eventstore.Chain
	// event is nil when it was not decoded. unreadable is the error when it could not be
	// decoded.
	event      eventstore.Event
	unreadable string
	// broken is set when the hash does not follow from the event and the previous hash.
	broken *brokenLink
	// forged is what is wrong with the MAC of the event, or "".
	forged string
}

// brokenLink is an event whose hash does not follow from its content and the previous hash.
type brokenLink struct {
	position int64
	// row is the stored event with its hash.
	row codec.Encoded
	// base is the stored hash of the previous event, at position beforeAt. It is 0 for the
	// first event.
	base     eventstore.Chain
	beforeAt int64
}

// judgedLinks is the number of broken links of a stream that are compared with each other.
// The time grows with its third power. Further links count as altered.
const judgedLinks = 48

// cause explains a broken link.
type cause struct {
	// innocent means that the previous event is the altered one.
	innocent bool
	// belongs is the version at which the event was recorded, or 0 for an altered event.
	belongs int64
}

// explain finds out which events of broken links were altered, which were moved, and which
// only follow one of those.
//
// A moved event breaks a link at its old place and at its new place. So the true hash
// before an event is a stored hash near a broken link, or follows from an event whose
// stored hash was damaged.
func explain(links []*brokenLink) []cause {
	causes := make([]cause, len(links))
	if len(links) > judgedLinks {
		links = links[:judgedLinks]
	}
	bases := make([]eventstore.Chain, 0, 3*len(links))
	kept := make(map[eventstore.Chain]bool, len(links))
	for _, l := range links {
		bases = append(bases, l.base, l.row.Chain, codec.Link(l.base, l.row))
		kept[l.row.Chain] = true
	}
	for i, l := range links {
		if fits(bases, l.row, l.row.Version, func(c eventstore.Chain) bool { return c == l.row.Chain }) {
			causes[i].innocent = true
			continue
		}
		for _, other := range links {
			if v := other.row.Version; v != l.row.Version && fits(bases, l.row, v, func(c eventstore.Chain) bool { return kept[c] }) {
				causes[i].belongs = v
				break
			}
		}
	}
	return causes
}

// fits reports whether an event at a version, after one of the hashes, has a wanted hash.
func fits(bases []eventstore.Chain, row codec.Encoded, version int64, wanted func(eventstore.Chain) bool) bool {
	row.Version = version
	for _, base := range bases {
		if wanted(codec.Link(base, row)) {
			return true
		}
	}
	return false
}

// source is the part of the audit that made a finding. It decides whether the finding is
// reported beside damage.
type source int

const (
	// fromChain findings prove damage by themselves.
	fromChain source = iota
	// fromEntry findings compare a row of a read model with the one event that it is made
	// from.
	fromEntry
	// fromFold findings concern the state folded from the whole history up to the event.
	fromFold
)

// place is a place in the stream of the finding.
type place struct{ version, position int64 }

// finding is a mismatch of one stream, before its cause is known.
type finding struct {
	kind   Kind
	source source
	// version is the version of the event at which it was found, or atEnd. at is the place
	// to report.
	version int64
	at      place
	detail  string
}

// atEnd is the version of findings after the last event.
const atEnd = math.MaxInt64

// maxFindings is the largest number of findings that are kept for one stream.
const maxFindings = 1000

// history is the state of the verification of one stream, event by event.
type history struct {
	head    head
	account string
	// apply folds an event of this stream. It is nil when only the chain is verified.
	apply func(e stored)
	// details reports how two documents of the stream's state differ, and whether it
	// reported every difference. It may be nil.
	details func(log, read []byte) bool

	// version, position and chain belong to the last event. taken is the number of events.
	version, position int64
	taken             int64
	// beyond is the position of the first event after the version of the head.
	beyond int64
	chain  eventstore.Chain

	links    []*brokenLink
	gaps     []gap
	findings []finding
	// uncounted is the number of findings that were not kept.
	uncounted int64
}

// gap is a range of missing versions, from first to last, after the event at position.
type gap struct{ first, last, position int64 }

// find adds a finding about an event.
func (h *history) find(kind Kind, from source, version, position int64, detail string, args ...any) {
	h.note(finding{kind, from, version, place{version, position}, fmt.Sprintf(detail, args...)})
}

func (h *history) note(f finding) {
	if len(h.findings) == maxFindings {
		h.uncounted++
		return
	}
	h.findings = append(h.findings, f)
}

// take verifies the next event.
func (h *history) take(e stored) {
	if e.version > h.version+1 {
		h.gaps = append(h.gaps, gap{h.version + 1, e.version - 1, h.position})
	}
	if e.broken != nil {
		if len(h.links) < maxFindings {
			h.links = append(h.links, e.broken)
		} else {
			h.uncounted++
		}
	}
	if h.head.version != noHead && e.version > h.head.version && h.version <= h.head.version {
		h.beyond = e.position
	}
	if e.forged != "" {
		// A damaged event has no valid MAC either, and is reported as damaged.
		h.find(Forged, fromEntry, e.version, e.position, "the service did not write the event: %s", e.forged)
	}
	if e.position <= h.position {
		h.find(Position, fromFold, e.version, e.position, "the event has an earlier position than version %d, which has %d", h.version, h.position)
	}
	h.version, h.position, h.chain = e.version, e.position, e.chain
	h.taken++
	if h.apply != nil {
		h.apply(e)
	}
}

// end compares the last event with the head of the stream.
func (h *history) end() {
	last := len(h.links) - 1
	switch {
	case h.head.version == noHead && h.version > 0:
		h.find(Missing, fromChain, h.version, h.position, "the stream has no head")
	case h.head.version == noHead:
	case h.head.version > h.version:
		h.gaps = append(h.gaps, gap{h.version + 1, h.head.version, h.position})
	case h.head.version < h.version:
		h.find(Altered, fromChain, h.head.version+1, h.beyond, "the head of the stream is at version %d, before this event", h.head.version)
	case h.head.chain != h.chain && (last < 0 || h.links[last].row.Version != h.version):
		h.find(Altered, fromChain, h.version, h.position, "the head of the stream has another hash")
	}
}
