package audit

import (
	"fmt"
	"math"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

// stored is an event as a reader takes it from the log.
type stored struct {
	version, position int64
	account           string
	// chain is the hash stored with it.
	chain eventstore.Chain
	// event is nil when it was not or could not be decoded; unreadable says why not.
	event      eventstore.Event
	unreadable string
	// broken is set when chain does not follow.
	broken *brokenLink
}

// brokenLink is an event whose hash does not follow from its content and the hash before
// it.
type brokenLink struct {
	position int64
	// row is the event as it is stored, with its hash.
	row codec.Encoded
	// base is the hash stored with the event before it, which stands at beforeAt; 0 for the
	// first event.
	base     eventstore.Chain
	beforeAt int64
}

// judgedLinks bounds how many broken links of a stream are compared with each other,
// which takes time in the third power; the rest counts as altered.
const judgedLinks = 48

// cause explains a broken link.
type cause struct {
	// innocent means that it is the event before that is wrong.
	innocent bool
	// belongs is the version that the event was recorded at; 0 when it was altered.
	belongs int64
}

// explain finds out which events of broken links were altered, which were moved, and
// which only follow one of those.
//
// Whatever was moved left links broken where it was taken from and where it was put, so
// a true hash before an event stands either in the stored hashes around the broken
// links, or is computed from an event whose stored hash was damaged.
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

// fits reports whether an event at a version, after one of the hashes, has a hash that
// is looked for.
func fits(bases []eventstore.Chain, row codec.Encoded, version int64, wanted func(eventstore.Chain) bool) bool {
	row.Version = version
	for _, base := range bases {
		if wanted(codec.Link(base, row)) {
			return true
		}
	}
	return false
}

// source is the part of the audit that a finding comes from. It decides what a finding
// is worth beside damage.
type source int

const (
	// fromChain is proof of damage by itself.
	fromChain source = iota
	// fromEntry compares a row of a read model with the one event it follows from.
	fromEntry
	// fromFold is about the state that the whole history up to the event folds to.
	fromFold
)

// place is where something is in the log. stream is empty for the stream in which it was
// found.
type place struct {
	stream            string
	version, position int64
}

// finding is a mismatch of one stream before it is known what it follows from.
type finding struct {
	kind   Kind
	source source
	// version is that of the event at which it was noticed, or atEnd; at is the place to be
	// named.
	version int64
	at      place
	detail  string
}

// atEnd is the version of what was noticed after the last event.
const atEnd = math.MaxInt64

// maxFindings bounds the findings that are kept of one stream.
const maxFindings = 1000

// history is what is known of a stream while it is read, event by event.
type history struct {
	head    head
	account string
	// only, if set, is the kind of everything that is found in this stream.
	only Kind
	// apply folds an event of this stream; nil where only the chain is verified.
	apply func(e stored)
	// details names how two documents of the stream's state differ, and reports whether it
	// named everything; nil where that is not known.
	details func(log, read []byte) bool

	// version, position and chain are those of the last event, taken is how many there were.
	version, position int64
	taken             int64
	// beyond is the position of the first event that the head does not know.
	beyond int64
	chain  eventstore.Chain

	links    []*brokenLink
	gaps     []gap
	findings []finding
	// uncounted is how many more findings there were than are kept.
	uncounted int64
}

// gap are the missing versions from first to last, after the event at position.
type gap struct{ first, last, position int64 }

// find notes a mismatch at an event.
func (h *history) find(kind Kind, from source, version, position int64, detail string, args ...any) {
	h.note(finding{kind, from, version, place{"", version, position}, fmt.Sprintf(detail, args...)})
}

func (h *history) note(f finding) {
	if len(h.findings) == maxFindings {
		h.uncounted++
		return
	}
	h.findings = append(h.findings, f)
}

// take goes on to the next event.
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
	h.version, h.position, h.chain = e.version, e.position, e.chain
	h.taken++
	if h.apply != nil {
		h.apply(e)
	}
}

// knows says that the stream once had a version.
func (h *history) knows(version int64) {
	if version <= h.version {
		return
	}
	if n := len(h.gaps) - 1; n >= 0 && h.gaps[n].first == h.version+1 {
		h.gaps[n].last = max(h.gaps[n].last, version)
		return
	}
	h.gaps = append(h.gaps, gap{h.version + 1, version, h.position})
}

// end compares the last event with the head of the stream.
func (h *history) end() {
	last := len(h.links) - 1
	switch {
	case h.head.version == noHead && h.version > 0:
		h.find(Missing, fromChain, h.version, h.position, "the stream has no head")
	case h.head.version == noHead:
	case h.head.version > h.version:
		h.knows(h.head.version)
	case h.head.version < h.version:
		h.find(Altered, fromChain, h.head.version+1, h.beyond, "the head of the stream stands at version %d and does not know it", h.head.version)
	case h.head.chain != h.chain && (last < 0 || h.links[last].row.Version != h.version):
		h.find(Altered, fromChain, h.version, h.position, "the head of the stream carries another hash")
	}
}
