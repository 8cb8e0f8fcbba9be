package feed_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"vqa/eventstore"
	"vqa/eventstore/feed"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
	"vqa/migrations"
)

// waitLimit bounds a wait in a test.
const waitLimit = 30 * time.Second

// fixture is a log with a feed, both running until the test ends.
type fixture struct {
	*testing.T
	url   string
	pool  *pgxpool.Pool
	store *postgres.Store
	feed  *feed.Feed
}

func newFixture(t *testing.T, opts ...feed.Option) fixture {
	t.Helper()
	url := storetest.Database(t, migrations.Up, migrations.Version())
	pool, err := postgres.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	f := fixture{T: t, url: url, pool: pool, store: postgres.New(pool, storetest.Codec())}
	opts = append([]feed.Option{feed.WithRetry(3, time.Millisecond)}, opts...)
	f.feed = feed.New(pool, storetest.Codec(), slog.New(slog.DiscardHandler), opts...)
	f.background(f.store.Run)
	f.background(f.feed.Run)
	return f
}

// background runs run until the test ends. run must then return without an error.
func (f fixture) background(run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			require.NoError(f, err)
		case <-time.After(waitLimit):
			f.Error("it did not end")
		}
	})
	f.Cleanup(stop)
	return stop
}

// subscribe runs a subscriber until the test ends or stop is called.
func (f fixture) subscribe(group string, handler feed.Handler) (stop func()) {
	return f.background(func(ctx context.Context) error { return f.feed.Subscribe(ctx, group, handler) })
}

func (f fixture) append(id string, expected int64, n int) []eventstore.Recorded {
	f.Helper()
	return f.appendAs("acct_1", id, expected, n)
}

func (f fixture) appendAs(account, id string, expected int64, n int) []eventstore.Recorded {
	f.Helper()
	w := eventstore.Write{Stream: eventstore.StreamID{Category: "test", ID: id}, Expected: expected}
	for i := range n {
		w.Events = append(w.Events, eventstore.NewEvent{
			Event: storetest.Noted{Text: id, Number: int(expected) + i + 1},
			Meta:  eventstore.Meta{AccountID: account, RequestID: "req_1", CorrelationID: "corr", Actor: "key_1"},
		})
	}
	recorded, err := storetest.Append(f.Context(), f.store, eventstore.Batch{Writes: []eventstore.Write{w}})
	require.NoError(f, err)
	return recorded
}

// await receives n events or fails the test.
func (f fixture) await(from <-chan eventstore.Recorded, n int) []eventstore.Recorded {
	f.Helper()
	var got []eventstore.Recorded
	deadline := time.After(waitLimit)
	for len(got) < n {
		select {
		case e := <-from:
			got = append(got, e)
		case <-deadline:
			f.Fatalf("%d of %d events came", len(got), n)
		}
	}
	return got
}

// awaitPosition waits until a group has recorded a position.
func (f fixture) awaitPosition(group string, position int64) {
	f.Helper()
	require.Eventually(f, func() bool {
		var at int64
		err := f.pool.QueryRow(f.Context(), "select position from subscriptions where name = $1", group).Scan(&at)
		return err == nil && at == position
	}, waitLimit, 2*time.Millisecond)
}

// into returns a handler that sends its events to ch.
func into(ch chan<- eventstore.Recorded) feed.Handler {
	return func(ctx context.Context, e eventstore.Recorded) error {
		select {
		case ch <- e:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
