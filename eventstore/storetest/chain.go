package storetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

// Append appends a batch whose writes have no chain. It loads the chains first, as the command
// pipeline does.
func Append(ctx context.Context, s eventstore.Store, b eventstore.Batch) ([]eventstore.Recorded, error) {
	writes := make([]eventstore.Write, len(b.Writes))
	for i, w := range b.Writes {
		if w.Expected > 0 && w.Chain == (eventstore.Chain{}) {
			histories, err := s.Load(ctx, w.Stream)
			if err != nil {
				return nil, err
			}
			if w.Chain = histories[w.Stream].Chain; w.Chain == (eventstore.Chain{}) {
				w.Chain = eventstore.Chain{1} // not the chain of any stream; the append fails because of the version
			}
		}
		writes[i] = w
	}
	b.Writes = writes
	return s.Append(ctx, b)
}

// chaining is a store whose Append loads the chains.
type chaining struct{ eventstore.Store }

func (c chaining) Append(ctx context.Context, b eventstore.Batch) ([]eventstore.Recorded, error) {
	return Append(ctx, c.Store, b)
}

// chains compares the chain of each event with one computed from the events that were read.
func chains(t *testing.T, ctx context.Context, s eventstore.Store) {
	t.Helper()
	appended := mustAppend(t, ctx, s, batch(write("a", 0, note("a", 1), note("a", 2)), write("b", 0, note("b", 1))))
	appended = append(appended, mustAppend(t, ctx, s, batch(write("a", 2, note("a", 3))))...)
	require.Equal(t, appended, all(t, ctx, s, 10))

	want := map[eventstore.StreamID]eventstore.Chain{}
	for _, r := range appended {
		name, data, err := Codec().Marshal(r.Event)
		require.NoError(t, err)
		meta, err := codec.MarshalMeta(r.Meta)
		require.NoError(t, err)
		want[r.Stream] = codec.Link(want[r.Stream], codec.Encoded{
			Stream: r.Stream, Version: r.Version, Type: name, Data: data, AccountID: r.Meta.AccountID, Meta: meta,
		})
		require.Equal(t, want[r.Stream], r.Chain, "position %d", r.Position)
	}
	require.NotEqual(t, appended[0].Chain, appended[2].Chain, "the stream is part of it")
	histories, err := s.Load(ctx, stream("a"), stream("b"), stream("none"))
	require.NoError(t, err)
	for id, h := range histories {
		require.Equal(t, want[id], h.Chain, "%s", id)
	}
	for _, w := range []eventstore.Write{
		{Stream: stream("a"), Expected: 3, Events: []eventstore.NewEvent{note("a", 4)}},
		{Stream: stream("c"), Chain: eventstore.Chain{1}, Events: []eventstore.NewEvent{note("c", 1)}},
	} {
		_, err := s.(chaining).Store.Append(ctx, batch(w))
		require.ErrorContains(t, err, "chain")
	}
}
