package command

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
)

// strangeStore is a log in which a newer release has written to one stream.
type strangeStore struct {
	eventstore.Store
	strange eventstore.StreamID
}

func (s *strangeStore) Load(ctx context.Context, ids ...eventstore.StreamID) (map[eventstore.StreamID]eventstore.History, error) {
	if slices.Contains(ids, s.strange) {
		return nil, &codec.UnknownTypeError{Type: "video.future"}
	}
	return s.Store.Load(ctx, ids...)
}

// TestAStreamOfANewerReleaseIsRefused: a command on a stream with an unknown event is refused, and can be
// repeated on another node. Commands on other streams succeed, also those of the same group.
func TestAStreamOfANewerReleaseIsRefused(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	newer := newWorld(t)
	caller := newer.account(1000)
	strange, plain := newer.readyVideo(caller), make([]string, 20)
	for i := range plain {
		plain[i] = newer.readyVideo(caller)
	}
	w := newWorld(t, withStore(&strangeStore{newer.log, fold.Video.Stream(strange)}))
	errs := make([]error, len(plain))
	var refused error
	var at sync.WaitGroup
	for i, id := range plain {
		at.Go(func() { _, errs[i] = w.CreateAnalysis(ctx, caller, ask(id)) })
	}
	at.Go(func() { _, refused = w.CreateAnalysis(ctx, caller, ask(strange)) })
	at.Wait()
	require.Equal(t, map[string]int{"ok": len(plain)}, tally(errs))
	requireFault(t, refused, fault.DBUnavailable)
	require.Equal(t, 1, fault.Of(refused).RetryAfterS)
	require.ErrorIs(t, refused, eventstore.ErrUnknownEvent)
}

// TestASnapshotOfAnotherReleaseIsFoldedAgain: a snapshot of another release is not decided on, and the
// next append replaces it.
func TestASnapshotOfAnotherReleaseIsFoldedAgain(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	first := newWorld(t)
	caller := first.account(1000)
	stream := fold.Credit.Stream(caller.AccountID)
	grow := func(w *world, n int) {
		for range n {
			plan, err := w.CreateAnalysis(ctx, caller, ask(w.readyVideo(caller)))
			require.NoError(t, err)
			_, err = w.CancelAnalysis(ctx, caller, plan.Analysis.ID)
			require.NoError(t, err)
		}
	}
	grow(first, snapshotEvery)
	h := load(t, first, stream)
	require.NotNil(t, h.Snapshot)

	// An earlier release has stored a balance without the shape, and it lacks seconds.
	foreign, err := json.Marshal(credit.State{})
	require.NoError(t, err)
	w := newWorld(t, withStore(&foreignSnapshots{first.log, foreign}))
	before := stateOf(w, credits, caller.AccountID)
	grow(w, 1)
	require.Equal(t, before.PostedSeconds, stateOf(w, credits, caller.AccountID).PostedSeconds)
	require.Greater(t, load(t, first, stream).SnapshotVersion, h.SnapshotVersion)
}

func load(t *testing.T, w *world, stream eventstore.StreamID) eventstore.History {
	t.Helper()
	histories, err := w.log.Load(t.Context(), stream)
	require.NoError(t, err)
	return histories[stream]
}

// foreignSnapshots is a log whose snapshots another release made.
type foreignSnapshots struct {
	eventstore.Store
	snapshot []byte
}

func (s *foreignSnapshots) Load(ctx context.Context, ids ...eventstore.StreamID) (map[eventstore.StreamID]eventstore.History, error) {
	histories, err := s.Store.Load(ctx, ids...)
	for id, h := range histories {
		if h.Snapshot != nil {
			h.Snapshot = s.snapshot
			histories[id] = h
		}
	}
	return histories, err
}
