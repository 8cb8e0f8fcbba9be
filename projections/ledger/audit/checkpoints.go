package audit

import (
	"fmt"
	"strings"

	"vqa/domain/credit"
	"vqa/eventstore/fold"
)

// seals are the checkpoints of one account: a stream of their own that is verified
// beside the ledger, each when the ledger reaches its version.
type seals struct {
	*history
	keys credit.LedgerKeys
	// state is that of the stream, trusted or not.
	state credit.CheckpointState
	// waiting are those that the ledger has not reached.
	waiting []seal
	// last is the newest checkpoint; trusted says that nothing is wrong with it.
	last    credit.Checkpoint
	trusted bool
	// all is set once there are no more to read.
	all bool
	// disproved is set once one contradicted the log: the later ones do so too.
	disproved bool
}

// seal is a trusted checkpoint and its place in the log.
type seal struct {
	credit.Checkpoint
	version, position int64
}

func newSeals(h head, keys credit.LedgerKeys) *seals {
	s := &seals{history: &history{head: h, account: accountOf(h.stream), only: Checkpoint}, keys: keys}
	s.apply = s.sealed
	return s
}

// sealed verifies the next checkpoint by itself and against the one before it.
func (s *seals) sealed(e stored) {
	previous, follows := s.last, s.trusted && s.last.Number == e.version-1
	s.trusted = false
	if e.unreadable != "" {
		s.find(Checkpoint, fromChain, e.version, e.position, "it cannot be read: %s", e.unreadable)
		return
	}
	event, ok := e.event.(credit.Sealed)
	if !ok {
		s.find(Checkpoint, fromChain, e.version, e.position, "a %s is not a checkpoint", e.event.EventType())
		return
	}
	s.state = fold.Checkpoint.Evolve(s.state, event)
	c := event.Checkpoint
	var wrong []string
	key, known := s.keys.Find(c.KeyID)
	switch {
	case !known:
		wrong = append(wrong, fmt.Sprintf("nobody knows the key %s", c.KeyID))
	case !event.Verify(key):
		wrong = append(wrong, "its signature does not fit")
	}
	if c.AccountID != s.account {
		wrong = append(wrong, fmt.Sprintf("it vouches for the account %s", c.AccountID))
	}
	if c.Number != e.version {
		wrong = append(wrong, fmt.Sprintf("its number is %d instead of %d", c.Number, e.version))
	}
	if e.version == 1 && c.Previous != "" || follows && c.Previous != previous.Digest() {
		wrong = append(wrong, "it does not name the checkpoint before it")
	}
	if follows && c.Version <= previous.Version {
		wrong = append(wrong, fmt.Sprintf("it vouches for version %d after one for %d", c.Version, previous.Version))
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

// compare holds the checkpoint of this version, if there is one, against the log.
func (s *seals) compare(a *account, e stored) {
	for len(s.waiting) > 0 && s.waiting[0].Version <= e.version {
		c := s.waiting[0]
		s.waiting = s.waiting[1:]
		if c.Version == e.version && !s.disproved {
			s.hold(c, a, e)
		}
	}
}

// hold compares what a checkpoint says with the ledger at its version.
func (s *seals) hold(c seal, a *account, e stored) {
	f := finding{kind: Checkpoint, source: fromEntry, version: e.version, at: place{s.head.stream, c.version, c.position}}
	b := a.state
	switch {
	case c.Chain != e.chain.String():
		s.disproved = true
		f.detail = fmt.Sprintf("the log at version %d has another hash: it was written anew", e.version)
	case c.PostedSeconds != b.PostedSeconds || c.HeldSeconds != b.HeldSeconds || c.AvailableSeconds != b.AvailableSeconds() || c.Totals != b.Totals:
		f.source = fromFold
		f.detail = fmt.Sprintf("it says %d s posted and %d s held, the log at version %d makes %d s and %d s, or other totals",
			c.PostedSeconds, c.HeldSeconds, e.version, b.PostedSeconds, b.HeldSeconds)
	default:
		return
	}
	a.note(f)
}

// end compares the last checkpoint with the head of its stream, and what it knows with
// the ledger, whose last events may be gone.
func (s *seals) end(a *account) {
	s.history.end()
	if n := len(s.waiting); n > 0 {
		a.knows(s.waiting[n-1].Version)
	}
}
