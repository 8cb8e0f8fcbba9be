package feed_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/eventstore"
	"vqa/eventstore/feed"
)

func TestSubscribersShowTheirProgress(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	events := f.append("a", 0, 5)
	inside, goOn := make(chan struct{}), make(chan struct{})
	f.subscribe("busy", func(_ context.Context, e eventstore.Recorded) error {
		if e.Version == 3 {
			close(inside)
			<-goOn
		}
		return nil
	})
	<-inside
	defer close(goOn)
	all, err := f.feed.Subscribers(t.Context(), "known", "busy")
	require.NoError(t, err)
	require.Len(t, all, 1+1)
	for i, name := range []string{"busy", "known"} {
		require.Equal(t, name, all[i].Name)
		require.Equal(t, []int64{0, 5, 0}, []int64{all[i].Position, all[i].LagEvents, all[i].Parked})
		require.InDelta(t, time.Since(events[0].RecordedAt).Seconds(), all[i].LagSeconds, 30)
		require.Equal(t, i == 0, all[i].Delivering)
	}
	require.NoError(t, f.feed.MustKnow(t.Context(), "known", "known"))
	require.ErrorContains(t, f.feed.MustKnow(t.Context(), "konwn", "known"), "known")
}

func TestResetMovesAGroup(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	events := f.append("a", 0, 10)
	got := make(chan eventstore.Recorded, 100)
	f.subscribe("g", into(got))
	f.await(got, 10)
	last := events[9].Position
	f.awaitPosition("g", last)

	dry, err := f.feed.Reset(t.Context(), "g", events[3].Position, true)
	require.NoError(t, err)
	require.Equal(t, feed.Move{Subscriber: "g", From: last, To: events[3].Position, Again: 6}, dry)
	f.awaitPosition("g", last)
	moved, err := f.feed.Reset(t.Context(), "g", events[3].Position, false)
	require.NoError(t, err)
	require.Equal(t, dry, moved)
	require.Empty(t, cmp.Diff(events[4:], f.await(got, 6)))
	f.awaitPosition("g", last)

	for _, nowhere := range []int64{-1, last + 1} {
		_, err = f.feed.Reset(t.Context(), "g", nowhere, false)
		require.ErrorContains(t, err, "is not in the log")
	}
	skip, err := f.feed.Reset(t.Context(), "new", last, false)
	require.NoError(t, err)
	require.Equal(t, feed.Move{Subscriber: "new", To: last, Skipped: 10}, skip)
	f.subscribe("new", into(got))
	more := f.append("b", 0, 1)
	seen := f.await(got, 2) // once for each group
	require.Equal(t, []int64{more[0].Position, more[0].Position}, []int64{seen[0].Position, seen[1].Position})
}

// TestResetWaitsForTheBatch: the ack of a running batch must not overwrite a reset.
func TestResetWaitsForTheBatch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	events := f.append("a", 0, 3)
	inside, goOn := make(chan struct{}), make(chan struct{})
	got := make(chan eventstore.Recorded, 100)
	first := true
	f.subscribe("g", func(ctx context.Context, e eventstore.Recorded) error {
		if first {
			first = false
			close(inside)
			<-goOn
		}
		return into(got)(ctx, e)
	})
	<-inside
	reset := make(chan error, 1)
	go func() {
		_, err := f.feed.Reset(t.Context(), "g", 0, false)
		reset <- err
	}()
	require.Eventually(t, func() bool {
		var waiting bool
		err := f.pool.QueryRow(t.Context(), `select exists (select from pg_locks where locktype = 'advisory' and not granted
			and database = (select oid from pg_database where datname = current_database()))`).Scan(&waiting)
		return err == nil && waiting
	}, waitLimit, 2*time.Millisecond)
	require.Empty(t, reset)
	close(goOn)
	require.NoError(t, <-reset)
	require.Empty(t, cmp.Diff(append(events, events...), f.await(got, 6)))
}
