package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
)

// history verifies one stream, event by event.
type history struct {
	head   head
	id     eventstore.StreamID
	report *Report
	// account is the account of the ledger, or that of the last event.
	account string
	// category is nil for a category that this program does not know. Its events are not folded.
	category fold.Aggregate
	// tables are the indexes of the read models of the category.
	tables []int

	// damaged is set by the first damage. The events from there on are not folded.
	damaged bool
	// forged says that the service did not write the last event.
	forged bool
	// version, position and chain belong to the last event. taken is the number of events.
	version, position int64
	taken             int64
	chain             eventstore.Chain
	// beyond is the position of the first event after the version of the head.
	beyond int64
	state  any
	// refunds are the last refunds of a ledger, by the id of the refunded transaction.
	refunds map[string]place
}

// place is a place in a stream.
type place struct{ version, position int64 }

// find reports a mismatch.
func (h *history) find(kind Kind, version, position int64, detail string, args ...any) {
	h.report.add(Mismatch{
		AccountID: h.account, Kind: kind, Stream: h.head.stream, Version: version, Position: position, Detail: fmt.Sprintf(detail, args...),
	})
}

// damage reports a mismatch after which the history of the stream cannot be trusted.
func (h *history) damage(kind Kind, version, position int64, detail string, args ...any) {
	h.find(kind, version, position, detail, args...)
	h.damaged = true
}

// follow checks the place of the next event, who wrote it, and its hash.
func (h *history) follow(e stored) {
	if h.account == "" || h.id.Category != fold.Credit.Category() {
		h.account = e.AccountID
	}
	after := h.forged
	h.forged = e.forged != ""
	switch {
	case e.Version > h.version+1:
		h.missing(e.Version - 1)
	case codec.Link(h.chain, e.Encoded) != e.Chain && !h.forged && !after:
		h.damage(Altered, e.Version, e.position, "the hash does not match the event and the hash before it: this event was altered, or the one before it")
	}
	if h.forged {
		h.damage(Forged, e.Version, e.position, "the service did not write the event: %s", e.forged)
	}
	if h.head.version != noHead && e.Version > h.head.version && h.version <= h.head.version {
		h.beyond = e.position
	}
	if e.position <= h.position && !h.damaged {
		h.find(Position, e.Version, e.position, "the event has an earlier position than version %d, which has %d", h.version, h.position)
	}
	h.version, h.position, h.chain = e.Version, e.position, e.Chain
	h.taken++
}

// missing reports that the versions after the last event are missing, up to last.
func (h *history) missing(last int64) {
	if first := h.version + 1; first < last {
		h.damage(Missing, first, h.position, "versions %d to %d are missing", first, last)
	} else {
		h.damage(Missing, first, h.position, "version %d is missing", first)
	}
}

// fold folds an event into the state. A ledger event must obey the laws of the ledger.
func (h *history) fold(e stored) {
	if e.unreadable != "" {
		h.damage(Altered, e.Version, e.position, "the event cannot be read: %s", e.unreadable)
		return
	}
	if entry, ok := e.event.(credit.Event); ok && h.id.Category == fold.Credit.Category() {
		before, _ := h.state.(credit.State)
		if problem := credit.Examine(before, h.id.ID, entry); problem != "" {
			h.damage(Balance, e.Version, e.position, "%s", problem)
			return
		}
		h.book(e, entry)
	}
	state, err := h.category.FoldAny(h.state, e.recorded())
	if err != nil {
		h.damage(Altered, e.Version, e.position, "%v", err)
		return
	}
	h.state = state
}

// book adds the postings of an entry to the report.
func (h *history) book(e stored, entry credit.Event) {
	for _, p := range credit.Postings(entry) {
		name := p.Account
		if name == credit.Available(h.id.ID) {
			name = customersAvailable
		} else if name == credit.Reserved(h.id.ID) {
			name = customersHeld
		}
		h.report.LedgerAccounts[name] += p.Seconds
	}
	if x, ok := entry.(credit.Refunded); ok {
		if h.refunds == nil {
			h.refunds = map[string]place{}
		}
		h.refunds[x.Refunds] = place{e.Version, e.position}
	}
}

// checkSnapshot checks that the service wrote the snapshot of this version. The proof of the read models compares it with
// its events (projections.Rebuilder).
func (h *history) checkSnapshot(macs MACs) {
	s := h.head.snapshot
	var forged *eventstore.ForgedError
	if errors.As(macs.CheckSnapshot(h.id, h.version, s.chain, s.state, s.mac), &forged) {
		h.find(Forged, h.version, h.position, "the service did not write the snapshot: %s", forged.Problem)
	}
}

// end compares the last event with the head of the stream.
func (h *history) end() {
	switch {
	case h.head.version == noHead && h.version > 0:
		h.damage(Missing, h.version, h.position, "the stream has no head")
	case h.head.version == noHead:
	case h.head.version > h.version:
		h.missing(h.head.version)
	case h.head.version < h.version:
		h.damage(Altered, h.head.version+1, h.beyond, "the head of the stream is at version %d, before this event", h.head.version)
	case h.head.chain != h.chain && !h.forged:
		h.damage(Altered, h.version, h.position, "the head of the stream has another hash")
	}
}

// sameMeaning reports whether two JSON documents are equal, where an absent member, null and an empty
// value are the same.
func sameMeaning(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(withoutEmpty(x), withoutEmpty(y))
}

func withoutEmpty(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for name, value := range x {
			if value = withoutEmpty(value); value == nil {
				delete(x, name)
			} else {
				x[name] = value
			}
		}
		if len(x) == 0 {
			return nil
		}
	case []any:
		for i := range x {
			x[i] = withoutEmpty(x[i])
		}
		if len(x) == 0 {
			return nil
		}
	}
	return v
}
