package feed_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/eventstore"
	"vqa/eventstore/feed"
)

// request returns a replay of g from the first to the last of some events.
func request(events []eventstore.Recorded) feed.ReplayRequest {
	return feed.ReplayRequest{Subscriber: "g", From: events[0].Position, To: events[len(events)-1].Position, By: "tester"}
}

// awaitReplay waits until a replay is finished.
func (f fixture) awaitReplay(id int64) (r feed.Replay) {
	f.Helper()
	require.Eventually(f, func() bool {
		var err error
		r, err = f.feed.ReplayProgress(f.Context(), id)
		require.NoError(f, err)
		return r.FinishedAt != nil
	}, waitLimit, 2*time.Millisecond)
	return r
}

func TestAReplayDeliversAgainAndMovesNoPosition(t *testing.T) {
	t.Parallel()
	f := newFixture(t, feed.WithPollInterval(time.Hour)) // the request wakes the group
	events := f.append("a", 0, 250)                      // more than two batches
	got := make(chan eventstore.Recorded, 1000)
	f.subscribe("g", into(got))
	f.await(got, len(events))
	f.awaitPosition("g", events[249].Position)

	again := events[10:230]
	counts, err := f.feed.Preview(t.Context(), request(again))
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"storetest.noted": 220}, counts)
	r, err := f.feed.Replay(t.Context(), request(again))
	require.NoError(t, err)
	require.Equal(t, []any{int64(220), "tester", (*time.Time)(nil)}, []any{r.Events, r.OrderedBy, r.FinishedAt})
	require.Empty(t, cmp.Diff(again, f.await(got, len(again))))
	r = f.awaitReplay(r.ID)
	require.Equal(t, []int64{220, 220, 0}, []int64{r.Events, r.Delivered, r.Failed})
	f.awaitPosition("g", events[249].Position)

	// The group continues with new events.
	more := f.append("b", 0, 1)
	require.Empty(t, cmp.Diff(more, f.await(got, 1)))
	require.Empty(t, got)
}

func TestAReplayAndTheLogTakeTurns(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	old := f.append("old", 0, 300)
	var first atomic.Bool
	begun, goOn := make(chan struct{}), make(chan struct{})
	seen := make(chan eventstore.Recorded, 2000)
	f.subscribe("g", func(ctx context.Context, e eventstore.Recorded) error {
		if e.Stream.ID == "gate" && first.CompareAndSwap(false, true) {
			close(begun)
			select {
			case <-goOn:
			case <-ctx.Done():
			}
		}
		return into(seen)(ctx, e)
	})
	f.await(seen, len(old))
	gate := f.append("gate", 0, 1)
	<-begun
	// A long replay and new events both wait when the group continues.
	r, err := f.feed.Replay(t.Context(), request(old))
	require.NoError(t, err)
	fresh := f.append("new", 0, 150)
	close(goOn)
	f.await(seen, 1)
	all := f.await(seen, len(old)+len(fresh))
	f.awaitReplay(r.ID)
	f.awaitPosition("g", fresh[149].Position)
	var replayed, live []eventstore.Recorded
	lastNew := 0
	for i, e := range all {
		if e.Stream.ID == "old" {
			replayed = append(replayed, e)
		} else {
			live, lastNew = append(live, e), i
		}
	}
	require.Empty(t, cmp.Diff(old, replayed))
	require.Empty(t, cmp.Diff(fresh, live))
	require.Less(t, lastNew, len(all)-1, "new events do not wait for the end of the replay")
	require.Positive(t, gate[0].Position)
}

func TestAReplayGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	events := f.append("a", 0, 200)
	got := make(chan eventstore.Recorded, 1000)
	stop := f.subscribe("g", into(got))
	f.await(got, len(events))
	f.awaitPosition("g", events[199].Position)
	stop()

	r, err := f.feed.Replay(t.Context(), request(events))
	require.NoError(t, err)
	inside := make(chan struct{})
	stop = f.subscribe("g", func(ctx context.Context, e eventstore.Recorded) error {
		if e.Version == 150 { // in the second batch
			close(inside)
			<-ctx.Done()
		}
		return nil
	})
	<-inside
	stop()
	r, err = f.feed.ReplayProgress(t.Context(), r.ID)
	require.NoError(t, err)
	require.Equal(t, int64(100), r.Delivered, "the first batch is not repeated")
	require.Nil(t, r.FinishedAt)
	f.subscribe("g", into(got))
	require.Empty(t, cmp.Diff(events[100:], f.await(got, 100)))
	require.Equal(t, int64(200), f.awaitReplay(r.ID).Delivered)
}

func TestParkedEventsAreRetried(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var cured atomic.Bool
	done := make(chan int64, 100)
	f.subscribe("g", func(_ context.Context, e eventstore.Recorded) error {
		if e.Version == 2 && !cured.Load() || e.Version == 4 {
			return errors.New("cannot yet")
		}
		done <- e.Version
		return nil
	})
	events := f.append("a", 0, 5)
	for _, version := range []int64{1, 3, 5} {
		require.Equal(t, version, <-done)
	}
	f.awaitNoneSetAside("g")
	parked, err := f.feed.ParkedEvents(t.Context(), "g", 0)
	require.NoError(t, err)
	require.Equal(t, []int64{events[1].Position, events[3].Position}, []int64{parked[0].Position, parked[1].Position})
	require.Equal(t, feed.Parked{
		Subscriber: "g", Position: events[1].Position, Type: "storetest.noted", Stream: "test/a", Version: 2,
		Error: "cannot yet", Attempts: 3, At: parked[0].At, LaterInStream: 3,
	}, parked[0])

	cured.Store(true)
	retry := request(events)
	retry.OnlyParked = true
	r, err := f.feed.Replay(t.Context(), retry)
	require.NoError(t, err)
	r = f.awaitReplay(r.ID)
	require.Equal(t, []int64{2, 2, 1}, []int64{r.Events, r.Delivered, r.Failed})
	require.Equal(t, int64(2), <-done)
	require.Empty(t, done, "only parked events are delivered again")
	parked, err = f.feed.ParkedEvents(t.Context(), "g", 0)
	require.NoError(t, err)
	require.Len(t, parked, 1)
	require.Equal(t, []any{events[3].Position, 6}, []any{parked[0].Position, parked[0].Attempts})

	dropped, err := f.feed.DropParked(t.Context(), "g", events[3].Position)
	require.NoError(t, err)
	require.Equal(t, int64(1), dropped)
	_, err = f.feed.Replay(t.Context(), retry)
	var nothing *feed.NothingToReplayError
	require.ErrorAs(t, err, &nothing)
}

func TestAReplayEndsWhenItsLastEventIsNoLongerParked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	events := f.append("a", 0, 2)
	fail := func(context.Context, eventstore.Recorded) error { return errors.New("no") }
	stop := f.subscribe("g", fail)
	f.awaitPosition("g", events[1].Position)
	f.awaitNoneSetAside("g")
	stop()
	retry := request(events)
	retry.OnlyParked = true
	r, err := f.feed.Replay(t.Context(), retry)
	require.NoError(t, err)
	_, err = f.feed.DropParked(t.Context(), "g", 0)
	require.NoError(t, err)
	got := make(chan eventstore.Recorded, 10)
	f.subscribe("g", into(got))
	require.Zero(t, f.awaitReplay(r.ID).Delivered)
	more := f.append("b", 0, 1)
	require.Empty(t, cmp.Diff(more, f.await(got, 1)))
}

// done creates a group that has handled some events.
func (f fixture) done(group string, events []eventstore.Recorded) {
	f.Helper()
	_, err := f.feed.Reset(f.Context(), group, events[len(events)-1].Position, false)
	require.NoError(f, err)
}

func TestReplaysRunInTurnAndCanBeCanceled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	events := f.append("a", 0, 3)
	f.done("g", events)
	first, err := f.feed.Replay(t.Context(), request(events[:1]))
	require.NoError(t, err)
	second, err := f.feed.Replay(t.Context(), request(events[1:]))
	require.NoError(t, err)
	subscribers, err := f.feed.Subscribers(t.Context())
	require.NoError(t, err)
	require.Len(t, subscribers, 1)
	require.Empty(t, cmp.Diff(&first, subscribers[0].Replay))
	canceled, err := f.feed.CancelReplays(t.Context(), "g")
	require.NoError(t, err)
	require.ElementsMatch(t, []int64{first.ID, second.ID}, []int64{canceled[0].ID, canceled[1].ID})
	require.True(t, canceled[0].Canceled)

	var orders []int64
	for _, e := range []int{2, 0, 1} {
		r, err := f.feed.Replay(t.Context(), request(events[e:e+1]))
		require.NoError(t, err)
		orders = append(orders, r.ID)
	}
	got := make(chan eventstore.Recorded, 10)
	f.subscribe("g", into(got))
	require.Empty(t, cmp.Diff([]eventstore.Recorded{events[2], events[0], events[1]}, f.await(got, 3)))
	f.awaitReplay(orders[2])
	require.Empty(t, got)
}

// TestSubscribersOfOneGroupShareAReplay: the holder of the group takes the next batch.
func TestSubscribersOfOneGroupShareAReplay(t *testing.T) {
	t.Parallel()
	f := newFixture(t, feed.WithPollInterval(time.Millisecond))
	old := f.append("old", 0, 450)
	f.done("g", old)
	r, err := f.feed.Replay(t.Context(), request(old))
	require.NoError(t, err)
	got := make(chan eventstore.Recorded, 1000)
	for range 3 {
		f.subscribe("g", into(got))
	}
	fresh := f.append("new", 0, 150)
	all := f.await(got, len(old)+len(fresh))
	require.Equal(t, int64(450), f.awaitReplay(r.ID).Delivered)
	isOld := func(e eventstore.Recorded) bool { return e.Stream.ID == "old" }
	require.Empty(t, cmp.Diff(old, slices.DeleteFunc(slices.Clone(all), func(e eventstore.Recorded) bool { return !isOld(e) })))
	require.Empty(t, cmp.Diff(fresh, slices.DeleteFunc(all, isOld)))
	require.Empty(t, got, "nothing crashed, so each event came once")
}

func TestReplayRefusesNonsense(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	events := f.append("a", 0, 3)
	last := events[1].Position
	f.done("g", events[:2])
	for _, o := range []feed.ReplayRequest{{From: 0, To: 1}, {From: 2, To: 1}, {From: last + 1, To: last + 9}} {
		o.Subscriber = "g"
		_, err := f.feed.Replay(t.Context(), o)
		require.Error(t, err)
	}
	_, err := f.feed.Preview(t.Context(), feed.ReplayRequest{Subscriber: "other", From: 1, To: last})
	require.ErrorAs(t, err, new(*feed.NothingToReplayError), "the group has received no event")
	// Events after the group's position are not part of a replay.
	r, err := f.feed.Replay(t.Context(), feed.ReplayRequest{Subscriber: "g", From: last, To: last + 1000})
	require.NoError(t, err)
	require.Equal(t, []int64{last, 1}, []int64{r.To, r.Events})
	_, err = f.feed.ReplayProgress(t.Context(), r.ID+1)
	require.Error(t, err)
}

func TestOldReplaysAreDeleted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	events := f.append("a", 0, 3)
	f.done("g", events)
	var ids []int64
	for range 4 {
		r, err := f.feed.Replay(t.Context(), request(events))
		require.NoError(t, err)
		ids = append(ids, r.ID)
	}
	// Two are old, one finished lately, and one is open.
	_, err := f.pool.Exec(t.Context(), `update replays set finished_at = clock_timestamp() - case when id <= $1 then interval '91 days'
		else interval '89 days' end where id <= $2`, ids[1], ids[2])
	require.NoError(t, err)
	for _, want := range []int64{1, 1, 0} {
		n, err := f.feed.DeleteOldReplays(t.Context(), 1)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	for i, id := range ids {
		_, err := f.feed.ReplayProgress(t.Context(), id)
		require.Equal(t, i < 2, err != nil, "replay %d", i)
	}
}
