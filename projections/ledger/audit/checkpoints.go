package audit

import (
	"fmt"
	"strings"

	"vqa/domain/credit"
	"vqa/eventstore/fold"
)

// seals are the checkpoints of one account. Their stream is verified beside the ledger.
// Each checkpoint is compared when the ledger reaches its version.
type seals struct {
	*history
	keys credit.LedgerKeys
	// state is the state of the stream, even if it cannot be trusted.
	state credit.CheckpointState
	// waiting are the checkpoints that the ledger has not reached.
	waiting []seal
	// last is the newest checkpoint. trusted is true when it has no findings.
	last    credit.Checkpoint
	trusted bool
	// all is set when every checkpoint has been read.
	all bool
	// disproved is set after a checkpoint contradicted the log, because later ones
	// contradict it too.
	disproved bool
}

// seal is a trusted checkpoint with its place in the log.
type seal struct {
	credit.Checkpoint
	version, position int64
}

func newSeals(h head, keys credit.LedgerKeys) *seals {
	s := &seals{history: &history{head: h, account: accountOf(h.stream), only: Checkpoint}, keys: keys}
	s.apply = s.sealed
	return s
}

// sealed verifies the next checkpoint by itself and against the previous one.
func (s *seals) sealed(e stored) {
	previous, follows := s.last, s.trusted && s.last.Number == e.version-1
	s.trusted = false
	if e.unreadable != "" {
		s.find(Checkpoint, fromChain, e.version, e.position, "the event cannot be read: %s", e.unreadable)
		return
	}
	event, ok := e.event.(credit.Sealed)
	if !ok {
		s.find(Checkpoint, fromChain, e.version, e.position, "%s is not a checkpoint", e.event.EventType())
		return
	}
	s.state = fold.Checkpoint.Evolve(s.state, event)
	c := event.Checkpoint
	var wrong []string
	key, known := s.keys.Find(c.KeyID)
	switch {
	case !known:
		wrong = append(wrong, fmt.Sprintf("the key %s is unknown", c.KeyID))
	case !event.Verify(key):
		wrong = append(wrong, "the signature is not valid")
	}
	if c.AccountID != s.account {
		wrong = append(wrong, fmt.Sprintf("it covers the account %s", c.AccountID))
	}
	if c.Number != e.version {
		wrong = append(wrong, fmt.Sprintf("the number is %d instead of %d", c.Number, e.version))
	}
	if e.version == 1 && c.Previous != "" || follows && c.Previous != previous.Digest() {
		wrong = append(wrong, "it does not name the previous checkpoint")
	}
	if follows && c.Version <= previous.Version {
		wrong = append(wrong, fmt.Sprintf("it covers version %d, after a checkpoint for version %d", c.Version, previous.Version))
	}
	if len(wrong) > 0 {
		s.find(Checkpoint, fromChain, e.version, e.position, "%s", strings.Join(wrong, "; "))
		return
	}
	s.last = c
	if e.broken == nil {
		s.trusted = true
		s.waiting = append(s.waiting, seal{c, e.version, e.position})
	}
}

// compare compares the log with the checkpoint of this version, if there is one.
func (s *seals) compare(a *account, e stored) {
	for len(s.waiting) > 0 && s.waiting[0].Version <= e.version {
		c := s.waiting[0]
		s.waiting = s.waiting[1:]
		if c.Version == e.version && !s.disproved {
			s.hold(c, a, e)
		}
	}
}

// hold compares a checkpoint with the ledger at its version.
func (s *seals) hold(c seal, a *account, e stored) {
	f := finding{kind: Checkpoint, source: fromEntry, version: e.version, at: place{s.head.stream, c.version, c.position}}
	b := a.state
	switch {
	case c.Chain != e.chain.String():
		s.disproved = true
		f.detail = fmt.Sprintf("the log at version %d has another hash, so it was rewritten", e.version)
	case c.PostedSeconds != b.PostedSeconds || c.HeldSeconds != b.HeldSeconds || c.AvailableSeconds != b.AvailableSeconds() || c.Totals != b.Totals:
		f.source = fromFold
		f.detail = fmt.Sprintf("it contains %d s posted and %d s held, but the log at version %d has %d s and %d s, or other totals",
			c.PostedSeconds, c.HeldSeconds, e.version, b.PostedSeconds, b.HeldSeconds)
	default:
		return
	}
	a.note(f)
}

// end compares the last checkpoint with the head of its stream and with the ledger, whose
// last events may be missing.
func (s *seals) end(a *account) {
	s.history.end()
	if n := len(s.waiting); n > 0 {
		a.knows(s.waiting[n-1].Version)
	}
}
