package feed_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/eventstore"
	"vqa/eventstore/feed"
	"vqa/eventstore/storetest"
)

// awaitNoneSetAside waits until a group has handled or parked the events that were set aside.
func (f fixture) awaitNoneSetAside(group string) {
	f.Helper()
	require.Eventually(f, func() bool {
		var n int
		err := f.pool.QueryRow(f.Context(), "select count(*) from set_aside where subscription = $1", group).Scan(&n)
		return err == nil && n == 0
	}, waitLimit, 2*time.Millisecond)
}

// TestAPoisonEventDelaysOnlyItsStream: while one event fails again and again, a group handles all
// events of another account, and other streams of the same account.
func TestAPoisonEventDelaysOnlyItsStream(t *testing.T) {
	t.Parallel()
	f := newFixture(t, feed.WithRetry(1_000_000, time.Millisecond))
	var cured atomic.Bool
	attempts := make(chan struct{}, 1)
	stream, others := make(chan eventstore.Recorded, 10), make(chan eventstore.Recorded, 1000)
	f.subscribe("g", func(ctx context.Context, e eventstore.Recorded) error {
		if e.Stream.ID != "poison" {
			return into(others)(ctx, e)
		}
		if e.Version == 2 && !cured.Load() {
			select {
			case attempts <- struct{}{}:
			default:
			}
			return errors.New("poison")
		}
		return into(stream)(ctx, e)
	})
	poison := f.appendAs("acct_bad", "poison", 0, 4)
	require.Empty(t, cmp.Diff(poison[:1], f.await(stream, 1)))
	<-attempts
	want := f.appendAs("acct_good", "good", 0, 250)
	want = append(want, f.appendAs("acct_bad", "other", 0, 5)...)
	require.Empty(t, cmp.Diff(want, f.await(others, len(want))), "all events of other streams, in order")
	poison = append(poison, f.appendAs("acct_bad", "poison", 4, 1)...)
	f.awaitPosition("g", poison[4].Position)
	<-attempts // one from before
	<-attempts // and one from now: it still fails
	require.Empty(t, stream, "the later events of the stream wait")
	all, err := f.feed.Subscribers(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int64{4, 4, 0}, []int64{all[0].SetAside, all[0].LagEvents, all[0].Parked})
	require.Positive(t, all[0].LagSeconds)

	cured.Store(true)
	require.Empty(t, cmp.Diff(poison[1:], f.await(stream, 4)), "each event once, in the order of the stream")
	f.awaitNoneSetAside("g")
	require.Empty(t, stream)
}

// TestAHangingHandlerDelaysOthersByOneAttempt: an event that commits during an attempt of a hanging
// event is delivered before the next attempt, also when an account has many hanging events. So the
// delay is one handler timeout.
func TestAHangingHandlerDelaysOthersByOneAttempt(t *testing.T) {
	t.Parallel()
	const limit = 3
	for name, hang := range map[string]feed.Handler{
		"before its deadline": func(ctx context.Context, _ eventstore.Recorded) error { <-ctx.Done(); return ctx.Err() },
		"in the group's transaction": func(ctx context.Context, _ eventstore.Recorded) error {
			_, err := feed.Tx(ctx).ExecContext(ctx, "select pg_sleep(60)")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, feed.WithRetry(limit, time.Millisecond), feed.WithHandlerTimeout(150*time.Millisecond))
			var mu sync.Mutex
			handled := map[int64]bool{} // events of the other account
			var pending []eventstore.Recorded
			attempts, late, n := 0, 0, 0
			f.subscribe("g", func(ctx context.Context, e eventstore.Recorded) error {
				mu.Lock()
				if e.Meta.AccountID == "acct_good" {
					handled[e.Position] = true
					mu.Unlock()
					return nil
				}
				for _, p := range pending {
					if !handled[p.Position] {
						late++
					}
				}
				attempts++
				n++
				pending = f.appendAs("acct_good", fmt.Sprint("good", n), 0, 2)
				mu.Unlock()
				return hang(ctx, e)
			})
			const poison = 4
			for i := range poison {
				f.appendAs("acct_bad", fmt.Sprint("poison", i), 0, 1)
			}
			require.Eventually(t, func() bool {
				parked, err := f.feed.ParkedEvents(t.Context(), "g", 0)
				return err == nil && len(parked) == poison
			}, waitLimit, 5*time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			require.Equal(t, poison*limit, attempts)
			require.Zero(t, late, "events that waited for more than one attempt")
		})
	}
}

// TestEventsSetAsideSurviveTheProcess: the next holder of the group continues with the attempts, in the
// order of the stream.
func TestEventsSetAsideSurviveTheProcess(t *testing.T) {
	t.Parallel()
	f := newFixture(t, feed.WithRetry(2, time.Millisecond))
	failed := make(chan struct{}, 1)
	got := make(chan eventstore.Recorded, 10)
	stop := f.subscribe("g", func(ctx context.Context, e eventstore.Recorded) error {
		if e.Stream.ID == "a" {
			failed <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}
		return into(got)(ctx, e)
	})
	events := f.append("a", 0, 2)
	<-failed
	stop() // no attempt: the subscription ended
	var setAside int
	require.NoError(t, f.pool.QueryRow(t.Context(), "select count(*) from set_aside").Scan(&setAside))
	require.Zero(t, setAside)

	// A first attempt fails, then the process ends before the second.
	slow := feed.New(f.pool, storetest.Codec(), slog.New(slog.DiscardHandler), feed.WithRetry(2, time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- slow.Subscribe(ctx, "g", func(context.Context, eventstore.Recorded) error { return errors.New("first attempt") })
	}()
	f.awaitPosition("g", events[1].Position)
	cancel()
	require.NoError(t, <-ended)
	_, err := f.pool.Exec(t.Context(), "update set_aside set due_at = clock_timestamp() where due_at is not null") // an hour later
	require.NoError(t, err)
	events = append(events, f.append("a", 2, 1)...)
	f.subscribe("g", into(got))
	require.Empty(t, cmp.Diff(events, f.await(got, 3)))
}

// TestResetReadsEventsSetAsideAgain: no event comes twice or out of order after a reset.
func TestResetReadsEventsSetAsideAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	slow := feed.New(f.pool, storetest.Codec(), slog.New(slog.DiscardHandler), feed.WithRetry(2, time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- slow.Subscribe(ctx, "g", func(context.Context, eventstore.Recorded) error { return errors.New("no") })
	}()
	events := f.append("a", 0, 3)
	f.awaitPosition("g", events[2].Position)
	cancel()
	require.NoError(t, <-ended)
	_, err := f.feed.Reset(t.Context(), "g", 0, false)
	require.NoError(t, err)
	got := make(chan eventstore.Recorded, 10)
	f.subscribe("g", into(got))
	require.Empty(t, cmp.Diff(events, f.await(got, 3)))
	f.awaitPosition("g", events[2].Position)
	require.Empty(t, got)
}
