package command

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

var errBroken = errors.New("the connection broke")

// TestSimulationFindsBrokenStores checks the simulation itself: with a store that violates one of its
// guarantees, some seed must report a violation.
func TestSimulationFindsBrokenStores(t *testing.T) {
	t.Parallel()
	for name, flawed := range map[string]func(eventstore.Store) eventstore.Store{
		"versions are not checked":        func(s eventstore.Store) eventstore.Store { return ignoresVersions{s} },
		"what was read is not asserted":   func(s eventstore.Store) eventstore.Store { return dropsAssertions{s} },
		"an append records only a part":   func(s eventstore.Store) eventstore.Store { return recordsPart{s} },
		"an acknowledged append is lost":  func(s eventstore.Store) eventstore.Store { return &losesAppends{Store: s} },
		"a commit is taken for conflict":  func(s eventstore.Store) eventstore.Store { return &reportsConflicts{Store: s} },
		"receipts are not kept":           func(s eventstore.Store) eventstore.Store { return dropsReceipts{s} },
		"receipts are kept for too short": func(s eventstore.Store) eventstore.Store { return shortReceipts{s} },
		"a load misses the last event":    func(s eventstore.Store) eventstore.Store { return staleLoads{s} },
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
			require.Fail(t, "no seed found it", "%d seeds", most)
		})
	}
}

// ignoresVersions records every write at the current version of its stream.
type ignoresVersions struct{ eventstore.Store }

func (s ignoresVersions) Append(ctx context.Context, b eventstore.Batch) ([]eventstore.Recorded, error) {
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

// dropsAssertions drops the writes that only assert a version.
type dropsAssertions struct{ eventstore.Store }

func (s dropsAssertions) Append(ctx context.Context, b eventstore.Batch) ([]eventstore.Recorded, error) {
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

// recordsPart records only the first write of a batch and reports a lost connection.
type recordsPart struct{ eventstore.Store }

func (s recordsPart) Append(ctx context.Context, b eventstore.Batch) ([]eventstore.Recorded, error) {
	if len(b.Writes) < 3 {
		return s.Store.Append(ctx, b)
	}
	if _, err := s.Store.Append(ctx, eventstore.Batch{Writes: b.Writes[:1]}); err != nil {
		return nil, err
	}
	return nil, &eventstore.UncertainError{Cause: errBroken}
}

// losesAppends acknowledges every tenth append without recording it.
type losesAppends struct {
	eventstore.Store
	n int
}

func (s *losesAppends) Append(ctx context.Context, b eventstore.Batch) ([]eventstore.Recorded, error) {
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

// reportsConflicts records every tenth append and reports a conflict.
type reportsConflicts struct {
	eventstore.Store
	n int
}

func (s *reportsConflicts) Append(ctx context.Context, b eventstore.Batch) ([]eventstore.Recorded, error) {
	recorded, err := s.Store.Append(ctx, b)
	if s.n++; s.n%10 == 0 && err == nil {
		return nil, &eventstore.ConflictError{Actual: -1}
	}
	return recorded, err
}

// dropsReceipts stores no receipts.
type dropsReceipts struct{ eventstore.Store }

func (s dropsReceipts) Append(ctx context.Context, b eventstore.Batch) ([]eventstore.Recorded, error) {
	b.Receipts = nil
	return s.Store.Append(ctx, b)
}

// shortReceipts returns a receipt for one hour only.
type shortReceipts struct{ eventstore.Store }

func (s shortReceipts) Append(ctx context.Context, b eventstore.Batch) ([]eventstore.Recorded, error) {
	b.Receipts = append([]eventstore.Receipt(nil), b.Receipts...)
	for i := range b.Receipts {
		b.Receipts[i].CreatedAt = b.Receipts[i].CreatedAt.Add(time.Hour - eventstore.ReceiptWindow)
	}
	return s.Store.Append(ctx, b)
}

// staleLoads loads long histories without their last event, as a replica does that lags behind.
type staleLoads struct{ eventstore.Store }

func (s staleLoads) Load(ctx context.Context, ids ...eventstore.StreamID) (map[eventstore.StreamID]eventstore.History, error) {
	histories, err := s.Store.Load(ctx, ids...)
	for id, h := range histories {
		if n := len(h.Events); n > 5 {
			h.Events, h.Version, h.Chain = h.Events[:n-1], h.Version-1, h.Events[n-2].Chain
			histories[id] = h
		}
	}
	return histories, err
}

// oldSnapshot stores the state of the previous snapshot instead of the new one.
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
