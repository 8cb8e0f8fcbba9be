package feed_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/feed"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
)

func TestEachGroupSeesEverythingInOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	want := f.append("before", 0, 250) // more than a batch
	a, b := make(chan eventstore.Recorded, 1000), make(chan eventstore.Recorded, 1000)
	f.subscribe("a", into(a))
	f.subscribe("b", into(b))
	for i := range 10 {
		want = append(want, f.append(fmt.Sprint("s", i), 0, 3)...)
	}
	require.Empty(t, cmp.Diff(want, f.await(a, len(want))))
	require.Empty(t, cmp.Diff(want, f.await(b, len(want))))
	f.awaitPosition("a", want[len(want)-1].Position)

	// A group continues where it stopped.
	c := make(chan eventstore.Recorded, 1000)
	stop := f.subscribe("c", into(c))
	f.await(c, len(want))
	f.awaitPosition("c", want[len(want)-1].Position)
	stop()
	more := f.append("after", 0, 1)
	f.subscribe("c", into(c))
	require.Empty(t, cmp.Diff(more, f.await(c, 1)))
	require.Empty(t, c)
}

func TestSubscribersOfOneGroupTakeTurns(t *testing.T) {
	t.Parallel()
	f := newFixture(t, feed.WithPollInterval(2*time.Millisecond))
	var mu sync.Mutex
	var seen []eventstore.Recorded
	atWork, overlapped := 0, false
	handler := func(_ context.Context, e eventstore.Recorded) error {
		mu.Lock()
		atWork++
		overlapped = overlapped || atWork > 1
		mu.Unlock()
		runtime.Gosched() // lets another subscriber run
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, e)
		atWork--
		return nil
	}
	var stops []func()
	for range 3 {
		stops = append(stops, f.subscribe("shared", handler))
	}
	var want []eventstore.Recorded
	for round, stop := range stops {
		for i := range 30 {
			want = append(want, f.append(fmt.Sprint(round, "-", i), 0, 4)...)
		}
		f.awaitPosition("shared", want[len(want)-1].Position)
		stop() // the others take over
	}
	require.False(t, overlapped)
	require.Empty(t, cmp.Diff(want, seen), "nothing crashed, so each event came once")
}

func TestALateCommitIsDeliveredInItsPlace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	got := make(chan eventstore.Recorded, 10)
	f.subscribe("g", into(got))
	f.append("first", 0, 1)
	f.await(got, 1)

	late, err := f.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = late.Rollback(context.Background()) }()
	_, err = late.Exec(t.Context(), `insert into events (stream, version, type, account_id, data, meta, chain)
		values ('test/late', 1, 'storetest.noted', '', '{"text":"late","number":1}', '{}', sha256(''))`)
	require.NoError(t, err)
	f.append("after", 0, 1)
	other := make(chan eventstore.Recorded, 10)
	f.subscribe("other", into(other))
	f.await(other, 1) // its poll started after the gap existed
	require.Empty(t, got)
	require.NoError(t, late.Commit(t.Context()))
	for _, ch := range []chan eventstore.Recorded{got, other} {
		events := f.await(ch, 2)
		require.Equal(t, []string{"late", "after"}, []string{events[0].Stream.ID, events[1].Stream.ID})
	}
}

func (f fixture) parked() (position int64, message string, attempts int) {
	f.Helper()
	require.Eventually(f, func() bool {
		err := f.pool.QueryRow(f.Context(), "select position, error, attempts from parked").Scan(&position, &message, &attempts)
		return err == nil
	}, waitLimit, 2*time.Millisecond)
	return position, message, attempts
}

func TestAFailingEventIsParkedAndTheGroupGoesOn(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fail     func(ctx context.Context) error
		message  string
		attempts int
	}{
		"error":    {func(context.Context) error { return errors.New("will not do") }, "will not do", 3},
		"panic":    {func(context.Context) error { panic("oh no") }, "oh no", 3},
		"deadline": {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, "deadline exceeded", 3},
		"sql error": {func(ctx context.Context) error {
			_, err := feed.Tx(ctx).ExecContext(ctx, "select 1/0")
			return err
		}, "division by zero", 3},
		"hidden sql error": {func(ctx context.Context) error {
			_, _ = feed.Tx(ctx).ExecContext(ctx, "select 1/0")
			return nil
		}, "ignored an SQL error", 3},
		"slow sql": {func(ctx context.Context) error {
			_, err := feed.Tx(ctx).ExecContext(ctx, "select pg_sleep(60)")
			return err
		}, "deadline", 3},
		"transaction taken": {func(ctx context.Context) error { return feed.Tx(ctx).Commit() }, "", 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, feed.WithHandlerTimeout(200*time.Millisecond))
			events := f.append("a", 0, 3)
			handled := make(chan eventstore.Recorded, 100)
			f.subscribe("g", func(ctx context.Context, e eventstore.Recorded) error {
				if e.Version == 2 {
					if _, err := feed.Tx(ctx).ExecContext(ctx,
						"insert into subscriptions (name, position) values ('undone', 1) on conflict do nothing"); err != nil {
						return err
					}
					return test.fail(ctx)
				}
				return into(handled)(ctx, e)
			})
			position, message, attempts := f.parked()
			require.Equal(t, events[1].Position, position)
			require.Contains(t, message, test.message)
			require.Equal(t, test.attempts, attempts)
			f.awaitPosition("g", events[2].Position)
			seen := map[int64]bool{}
			for !seen[3] { // after a lost transaction, event 1 comes again
				seen[f.await(handled, 1)[0].Version] = true
			}
			require.Equal(t, map[int64]bool{1: true, 3: true}, seen)
			if name == "transaction taken" {
				return
			}
			var undone int
			require.NoError(t, f.pool.QueryRow(t.Context(),
				"select count(*) from subscriptions where name = 'undone'").Scan(&undone))
			require.Zero(t, undone, "the writes of failed attempts")
		})
	}
}

func TestAHandlerIsTriedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	attempts := make(chan int, 10)
	tries := 0
	f.subscribe("g", func(ctx context.Context, e eventstore.Recorded) error {
		// The writes of a failed attempt are undone. Otherwise the second insert would fail.
		if _, err := feed.Tx(ctx).ExecContext(ctx,
			"insert into subscriptions (name, position) values ('mine', $1)", e.Position); err != nil {
			return err
		}
		tries++
		if tries < 3 {
			return errors.New("not yet")
		}
		attempts <- tries
		return nil
	})
	e := f.append("a", 0, 1)[0]
	f.awaitPosition("mine", e.Position)
	f.awaitPosition("g", e.Position)
	require.Equal(t, 3, <-attempts)
	var parked int
	require.NoError(t, f.pool.QueryRow(t.Context(), "select count(*) from parked").Scan(&parked))
	require.Zero(t, parked)
}

func TestAnEventThatCannotBeDecodedIsParkedAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var position int64
	require.NoError(t, f.pool.QueryRow(t.Context(), `insert into events (stream, version, type, account_id, data, meta, chain)
		values ('test/x', 1, 'storetest.noted', '', '{"surprise": true}', '{}', sha256('')) returning position`).Scan(&position))
	after := f.append("a", 0, 1)
	got := make(chan eventstore.Recorded, 1)
	f.subscribe("g", into(got))
	require.Empty(t, cmp.Diff(after, f.await(got, 1)))
	at, message, attempts := f.parked()
	require.Equal(t, position, at)
	require.Contains(t, message, "decode storetest.noted")
	require.Equal(t, 1, attempts)
}

func TestACrashBeforeTheAckRedelivers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	admin, err := pgx.Connect(t.Context(), f.url)
	require.NoError(t, err)
	defer func() { _ = admin.Close(context.Background()) }()
	crashed := false
	deliveries := make(chan eventstore.Recorded, 10)
	f.subscribe("g", func(ctx context.Context, e eventstore.Recorded) error {
		tx := feed.Tx(ctx)
		if _, err := tx.ExecContext(ctx, `insert into subscriptions (name, position) values ('mine', 1)
			on conflict (name) do update set position = subscriptions.position + 1`); err != nil {
			return err
		}
		if e.Version == 2 && !crashed {
			crashed = true
			var pid int
			if err := tx.QueryRowContext(ctx, "select pg_backend_pid()").Scan(&pid); err != nil {
				return err
			}
			// All work is done. The connection fails before the ack.
			if _, err := admin.Exec(ctx, "select pg_terminate_backend($1, 5000)", pid); err != nil {
				return err
			}
		}
		deliveries <- e
		return nil
	})
	events := f.append("a", 0, 3)
	f.awaitPosition("g", events[2].Position)
	f.awaitPosition("mine", 3) // each event counted once, in the transaction of the ack
	close(deliveries)
	var versions []int64
	for e := range deliveries {
		versions = append(versions, e.Version)
	}
	require.Equal(t, []int64{1, 2, 1, 2, 3}, versions, "events without an ack are delivered again, in order")
}

func TestShutdownLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	events := f.append("a", 0, 2)
	inside := make(chan struct{})
	stop := f.subscribe("g", func(ctx context.Context, e eventstore.Recorded) error {
		if _, err := feed.Tx(ctx).ExecContext(ctx,
			"insert into subscriptions (name, position) values ('mine', $1)", e.Position); err != nil {
			return err
		}
		close(inside)
		<-ctx.Done()
		return nil // it reports success after its deadline
	})
	<-inside
	stop()
	var rows int
	require.NoError(t, f.pool.QueryRow(t.Context(),
		"select (select count(*) from subscriptions) + (select count(*) from parked)").Scan(&rows))
	require.Zero(t, rows)
	got := make(chan eventstore.Recorded, 2)
	f.subscribe("g", into(got))
	require.Empty(t, cmp.Diff(events, f.await(got, 2)))
}

func TestTheWakeUpConnectionComesBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t, feed.WithPollInterval(time.Hour)) // only notifications lead to a delivery
	got := make(chan eventstore.Recorded, 10)
	f.subscribe("g", into(got))
	f.append("a", 0, 1)
	f.await(got, 1)
	admin, err := pgx.Connect(t.Context(), f.url)
	require.NoError(t, err)
	defer func() { _ = admin.Close(context.Background()) }()
	// The first read can deliver the event before the connection listens.
	require.Eventually(t, func() bool {
		var ended bool
		err := admin.QueryRow(t.Context(), `select pg_terminate_backend(pid, 5000) from pg_stat_activity
			where datname = current_database() and query = 'listen vqa_log'`).Scan(&ended)
		return err == nil && ended
	}, 10*time.Second, 10*time.Millisecond)
	f.append("b", 0, 1)
	f.await(got, 1)
}

func TestSubscribeNeedsAGroup(t *testing.T) {
	t.Parallel()
	f := feed.New(nil, storetest.Codec(), slog.New(slog.DiscardHandler))
	require.Error(t, f.Subscribe(t.Context(), "", func(context.Context, eventstore.Recorded) error { return nil }))
}

// TestAForgedEventIsParkedAtOnce: no handler gets an event that the service did not write.
func TestAForgedEventIsParkedAtOnce(t *testing.T) {
	t.Parallel()
	var guard *postgres.Guard
	f := newFixture(t, feed.WithCheck(func(e codec.Encoded, position int64, mac []byte) error { return guard.CheckEvent(e, position, mac) }))
	var err error
	guard, err = postgres.OpenGuard(t.Context(), f.pool, bytes.Repeat([]byte{1}, 32))
	require.NoError(t, err)
	f.store = postgres.New(f.pool, storetest.Codec(), postgres.WithGuard(guard))
	var position int64
	require.NoError(t, f.pool.QueryRow(t.Context(), `insert into events (stream, version, type, account_id, data, meta, chain)
		values ('test/x', 1, 'storetest.noted', '', '{"text": "forged", "number": 1}', '{}', sha256('')) returning position`).Scan(&position))
	after := f.append("a", 0, 1)
	got := make(chan eventstore.Recorded, 1)
	f.subscribe("g", into(got))
	require.Empty(t, cmp.Diff(after, f.await(got, 1)))
	at, message, attempts := f.parked()
	require.Equal(t, position, at)
	require.Contains(t, message, "was not written by the service")
	require.Equal(t, 1, attempts)
}
