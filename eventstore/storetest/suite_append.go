package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/eventstore"
)

func roundTrip(t *testing.T, ctx context.Context, s eventstore.Store) {
	given := []eventstore.NewEvent{
		note("snow ❄ \"quoted\" <b>&\n", -7),
		{Event: Closed{At: time.Date(2026, 2, 3, 4, 5, 6, 789, time.UTC)}},
	}
	recorded := mustAppend(t, ctx, s, batch(write("a/b", 0, given...)))
	require.Len(t, recorded, 2)
	for i, e := range recorded {
		require.Equal(t, stream("a/b"), e.Stream)
		require.Equal(t, int64(i+1), e.Version)
		require.Equal(t, given[i].Event, e.Event)
		require.Equal(t, given[i].Meta, e.Meta)
		require.Equal(t, time.UTC, e.RecordedAt.Location())
		require.WithinDuration(t, time.Now(), e.RecordedAt, time.Hour)
	}
	loaded, err := s.LoadAll(ctx, stream("a/b"))
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(recorded, loaded), "LoadAll")
	require.Empty(t, cmp.Diff(recorded, all(t, ctx, s, 10)), "Read")
	histories, err := s.Load(ctx, stream("a/b"))
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(recorded, histories[stream("a/b")].Events), "Load")
}

func versions(t *testing.T, ctx context.Context, s eventstore.Store) {
	var events []eventstore.Recorded
	// The writes are not in the order of stream names. Positions follow the order of the writes.
	events = append(events, mustAppend(t, ctx, s, batch(
		write("b", 0, note("b", 1), note("b", 2)), write("a", 0, note("a", 1)), write("c", 0, note("c", 1))))...)
	events = append(events, mustAppend(t, ctx, s, batch(write("a", 1, note("a", 2)), write("b", 2, note("b", 3))))...)

	var order []string
	for i, e := range events {
		order = append(order, e.Stream.ID)
		require.Equal(t, int64(e.Event.(Noted).Number), e.Version)
		require.True(t, i == 0 || e.Position > events[i-1].Position)
	}
	require.Equal(t, []string{"b", "b", "a", "c", "a", "b"}, order)
	require.NoError(t, CheckOrder(events))
}

func conflicts(t *testing.T, ctx context.Context, s eventstore.Store) {
	mustAppend(t, ctx, s, batch(write("a", 0, note("a", 1), note("a", 2))))
	tests := map[string]struct {
		id               string
		expected, actual int64
	}{
		"exists already": {"a", 0, 2},
		"behind":         {"a", 1, 2},
		"ahead":          {"a", 3, 2},
		"does not exist": {"b", 1, 0},
	}
	for name, test := range tests {
		_, err := s.Append(ctx, batch(write(test.id, test.expected, note("x", 0))))
		var conflict *eventstore.ConflictError
		require.ErrorAs(t, err, &conflict, name)
		require.Equal(t, eventstore.ConflictError{Stream: stream(test.id), Expected: test.expected, Actual: test.actual},
			*conflict, name)
	}
	// A conflict leaves nothing behind: the right version still goes through.
	require.Equal(t, int64(3), mustAppend(t, ctx, s, batch(write("a", 2, note("a", 3))))[0].Version)
	require.Equal(t, int64(1), mustAppend(t, ctx, s, batch(write("b", 0, note("b", 1))))[0].Version)
	require.Len(t, all(t, ctx, s, 10), 4)
}

func atomicity(t *testing.T, ctx context.Context, s eventstore.Store) {
	mustAppend(t, ctx, s, batch(write("b", 0, note("b", 1))))
	now := time.Now()
	receipt := eventstore.Receipt{AccountID: "acct_1", Key: "k", CreatedAt: now}

	_, err := s.Append(ctx, eventstore.Batch{
		Writes:   []eventstore.Write{write("a", 0, note("a", 1)), write("b", 7, note("b", 2)), write("c", 0, note("c", 1))},
		Receipts: []eventstore.Receipt{receipt},
	})
	var conflict *eventstore.ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, stream("b"), conflict.Stream)

	require.Len(t, all(t, ctx, s, 10), 1)
	histories, err := s.Load(ctx, stream("a"), stream("c"))
	require.NoError(t, err)
	require.Zero(t, histories[stream("a")].Version)
	require.Zero(t, histories[stream("c")].Version)
	_, found, err := s.Receipt(ctx, "acct_1", "k", now)
	require.NoError(t, err)
	require.False(t, found, "the receipt of a batch that failed")
}

func assertions(t *testing.T, ctx context.Context, s eventstore.Store) {
	mustAppend(t, ctx, s, batch(write("key", 0, note("key", 1))))
	mustAppend(t, ctx, s, batch(write("a", 0, note("a", 1)), write("key", 1), write("absent", 0)))

	var conflict *eventstore.ConflictError
	_, err := s.Append(ctx, batch(write("a", 1, note("a", 2)), write("key", 2)))
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, eventstore.ConflictError{Stream: stream("key"), Expected: 2, Actual: 1}, *conflict)
	_, err = s.Append(ctx, batch(write("a", 1, note("a", 2)), write("key", 0)))
	require.ErrorAs(t, err, &conflict)
	_, err = s.Append(ctx, batch(write("a", 1, note("a", 2)), write("absent", 1)))
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, stream("absent"), conflict.Stream)

	// An assertion records nothing and does not create a stream.
	recorded := mustAppend(t, ctx, s, batch(write("key", 1)))
	require.Empty(t, recorded)
	require.Len(t, all(t, ctx, s, 10), 2)
	histories, err := s.Load(ctx, stream("absent"), stream("key"))
	require.NoError(t, err)
	require.Zero(t, histories[stream("absent")].Version)
	require.Equal(t, int64(1), histories[stream("key")].Version)
	require.Equal(t, int64(1), mustAppend(t, ctx, s, batch(write("absent", 0, note("absent", 1))))[0].Version)
}

// unknown is an event that is not registered with the codec of the suite.
type unknown struct{}

func (unknown) EventType() string { return "storetest.unknown" }

func malformed(t *testing.T, ctx context.Context, s eventstore.Store) {
	receipt := eventstore.Receipt{AccountID: "acct_1", Key: "k", CreatedAt: time.Now()}
	withSnapshot := func(w eventstore.Write, snapshot string) eventstore.Write {
		w.Snapshot = []byte(snapshot)
		return w
	}
	tests := map[string]eventstore.Batch{
		"empty":                     {},
		"receipts only":             {Receipts: []eventstore.Receipt{receipt}},
		"a stream twice":            batch(write("a", 0, note("a", 1)), write("a", 1, note("a", 2))),
		"no id":                     batch(write("", 0, note("a", 1))),
		"negative version":          batch(write("a", -1, note("a", 1))),
		"unknown event":             batch(write("a", 0, eventstore.NewEvent{Event: unknown{}})),
		"no event":                  batch(write("a", 0, eventstore.NewEvent{})),
		"snapshot without events":   batch(withSnapshot(write("a", 0), "{}")),
		"snapshot that is not JSON": batch(withSnapshot(write("a", 0, note("a", 1)), "{")),
		"a receipt twice": {
			Writes:   []eventstore.Write{write("a", 0, note("a", 1))},
			Receipts: []eventstore.Receipt{receipt, receipt},
		},
		"receipt without key": {
			Writes:   []eventstore.Write{write("a", 0, note("a", 1))},
			Receipts: []eventstore.Receipt{{AccountID: "acct_1"}},
		},
	}
	for name, b := range tests {
		_, err := s.Append(ctx, b)
		require.Error(t, err, name)
		var conflict *eventstore.ConflictError
		require.False(t, errors.As(err, &conflict), name)
	}
	require.Empty(t, all(t, ctx, s, 10))
	_, err := s.Read(ctx, 0, 0)
	require.Error(t, err, "a limit of 0")
}
