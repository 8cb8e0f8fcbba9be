package command

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/eventstore"
	"vqa/eventstore/fold"
)

// forgedStore is a log in which somebody else has written to one stream.
type forgedStore struct {
	eventstore.Store
	forged eventstore.StreamID
}

func (s *forgedStore) Load(ctx context.Context, ids ...eventstore.StreamID) (map[eventstore.StreamID]eventstore.History, error) {
	if slices.Contains(ids, s.forged) {
		return nil, &eventstore.ForgedError{Stream: s.forged, Version: 7, Position: 77, Problem: "it has no MAC"}
	}
	return s.Store.Load(ctx, ids...)
}

// TestAStreamThatTheServiceDidNotWriteIsRefused: a command on a stream with a forged row is refused,
// without a detail for the caller. Commands on other streams succeed, also those of the same group.
func TestAStreamThatTheServiceDidNotWriteIsRefused(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	before := newWorld(t)
	caller := before.account(1000)
	forged, plain := before.readyVideo(caller), make([]string, 20)
	for i := range plain {
		plain[i] = before.readyVideo(caller)
	}
	w := newWorld(t, withStore(&forgedStore{before.log, fold.Video.Stream(forged)}))
	errs := make([]error, len(plain))
	var refused error
	var at sync.WaitGroup
	for i, id := range plain {
		at.Go(func() { _, errs[i] = w.CreateAnalysis(ctx, caller, ask(id)) })
	}
	at.Go(func() { _, refused = w.CreateAnalysis(ctx, caller, ask(forged)) })
	at.Wait()
	require.Equal(t, map[string]int{"ok": len(plain)}, tally(errs))
	requireFault(t, refused, fault.InternalError)
	require.Equal(t, notOurs, fault.Of(refused).Message, "neither the row nor the reason")
	var cause *eventstore.ForgedError
	require.ErrorAs(t, refused, &cause)
}
