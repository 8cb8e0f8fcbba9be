package command

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

// TestSimulationSees: with a store that breaks one of its promises, or a pipeline that
// does, some seed breaks a law. A simulation that passes whatever happens proves nothing.
func TestSimulationSees(t *testing.T) {
	t.Parallel()
	for name, flawed := range map[string]func(eventstore.Store) eventstore.Store{
		"versions are not checked":        func(s eventstore.Store) eventstore.Store { return lastWins{s} },
		"what was read is not asserted":   func(s eventstore.Store) eventstore.Store { return readsForgotten{s} },
		"an append is torn":               func(s eventstore.Store) eventstore.Store { return torn{s} },
		"an acknowledged append is lost":  func(s eventstore.Store) eventstore.Store { return &forgetful{Store: s} },
		"a commit is taken for conflict":  func(s eventstore.Store) eventstore.Store { return &denying{Store: s} },
		"receipts are not kept":           func(s eventstore.Store) eventstore.Store { return receiptless{s} },
		"receipts are kept for too short": func(s eventstore.Store) eventstore.Store { return shortReceipts{s} },
		"a load misses the last event":    func(s eventstore.Store) eventstore.Store { return stale{s} },
		"a snapshot is of an older state": func(s eventstore.Store) eventstore.Store { return &oldSnapshot{Store: s} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const most = 600
			for seed := uint64(1); seed <= most; seed++ {
				if _, err := simulate(t, seed, flawed); err != nil {
					t.Logf("%s: seed %d: %v", name, seed, err)
					return
				}
			}
			require.Fail(t, "no seed saw it", "%d seeds", most)
		})
	}
}

// lastWins records every write on whatever the stream is at.
type lastWins struct{ eventstore.Store }

func (s lastWins) Append(ctx context.Context, b eventstore.Batch) ([]eventstore.Recorded, error) {
	b.Writes = append([]eventstore.Write(nil), b.Writes...)
	for i, w := range b.Writes {
		h, err := s.Load(ctx, w.Stream)
		if err != nil {
			return nil, err
		}
		b.Writes[i].Expected, b.Writes[i].Chain, b.Writes[i].Snapshot = h[w.Stream].Version, h[w.Stream].Chain, nil
	}
	return s.Store.Append(ctx, b)
}

// readsForgotten drops the writes that only assert a version.
type readsForgotten struct{ eventstore.Store }

func (s readsForgotten) Append(ctx context.Context, b eventstore.Batch) ([]eventstore.Recorded, error) {
	var writes []eventstore.Write
	for _, w := range b.Writes {
		if len(w.Events) > 0 {
			writes = append(writes, w)
		}
	}
	if len(writes) > 0 {
		b.Writes = writes
	}
	return s.Store.Append(ctx, b)
}

// torn records the first write alone when the connection is lost.
type torn struct{ eventstore.Store }

func (s torn) Append(ctx context.Context, b eventstore.Batch) ([]eventstore.Recorded, error) {
	if len(b.Writes) < 3 {
		return s.Store.Append(ctx, b)
	}
	if _, err := s.Store.Append(ctx, eventstore.Batch{Writes: b.Writes[:1]}); err != nil {
		return nil, err
	}
	return nil, &eventstore.UncertainError{Cause: errBroken}
}

// forgetful answers each tenth append without recording it.
type forgetful struct {
	eventstore.Store
	n int
}

func (s *forgetful) Append(ctx context.Context, b eventstore.Batch) ([]eventstore.Recorded, error) {
	if s.n++; s.n%10 != 0 {
		return s.Store.Append(ctx, b)
	}
	encoded, err := codec.Events().Encode(b)
	if err != nil {
		return nil, err
	}
	var recorded []eventstore.Recorded
	for _, e := range encoded {
		recorded = append(recorded, eventstore.Recorded{Stream: e.Stream, Version: e.Version, Chain: e.Chain})
	}
	return recorded, nil
}

// denying records each tenth append and calls it a conflict.
type denying struct {
	eventstore.Store
	n int
}

func (s *denying) Append(ctx context.Context, b eventstore.Batch) ([]eventstore.Recorded, error) {
	recorded, err := s.Store.Append(ctx, b)
	if s.n++; s.n%10 == 0 && err == nil {
		return nil, &eventstore.ConflictError{Actual: -1}
	}
	return recorded, err
}

// receiptless keeps no receipt.
type receiptless struct{ eventstore.Store }

func (s receiptless) Append(ctx context.Context, b eventstore.Batch) ([]eventstore.Recorded, error) {
	b.Receipts = nil
	return s.Store.Append(ctx, b)
}

// shortReceipts honours a receipt for one hour.
type shortReceipts struct{ eventstore.Store }

func (s shortReceipts) Append(ctx context.Context, b eventstore.Batch) ([]eventstore.Recorded, error) {
	b.Receipts = append([]eventstore.Receipt(nil), b.Receipts...)
	for i := range b.Receipts {
		b.Receipts[i].CreatedAt = b.Receipts[i].CreatedAt.Add(time.Hour - eventstore.ReceiptWindow)
	}
	return s.Store.Append(ctx, b)
}

// stale loads long histories without their last event, as a replica that lags would.
type stale struct{ eventstore.Store }

func (s stale) Load(ctx context.Context, ids ...eventstore.StreamID) (map[eventstore.StreamID]eventstore.History, error) {
	histories, err := s.Store.Load(ctx, ids...)
	for id, h := range histories {
		if n := len(h.Events); n > 5 {
			h.Events, h.Version, h.Chain = h.Events[:n-1], h.Version-1, h.Events[n-2].Chain
			histories[id] = h
		}
	}
	return histories, err
}

// oldSnapshot keeps with each snapshot the state of the one before it.
type oldSnapshot struct {
	eventstore.Store
	last []byte
}

func (s *oldSnapshot) Append(ctx context.Context, b eventstore.Batch) ([]eventstore.Recorded, error) {
	b.Writes = append([]eventstore.Write(nil), b.Writes...)
	for i, w := range b.Writes {
		if w.Snapshot != nil && w.Stream.Category == "credit" {
			if s.last == nil {
				s.last = []byte("{}")
			}
			b.Writes[i].Snapshot, s.last = s.last, w.Snapshot
		}
	}
	return s.Store.Append(ctx, b)
}
