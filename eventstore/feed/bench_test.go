package feed_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/eventstore"
	"vqa/eventstore/feed"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
	"vqa/migrations"
)

// newLog returns a running log and feed for a benchmark.
func newLog(b *testing.B) (*postgres.Store, *feed.Feed) {
	b.Helper()
	pool, err := postgres.Connect(b.Context(), storetest.Database(b, migrations.Up, migrations.Version()))
	require.NoError(b, err)
	store := postgres.New(pool, storetest.Codec())
	f := feed.New(pool, storetest.Codec(), slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- store.Run(ctx) }()
	go func() { ended <- f.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		require.NoError(b, <-ended)
		require.NoError(b, <-ended)
		pool.Close()
	})
	return store, f
}

// BenchmarkAppendToHandler measures, on an otherwise idle log, the time from the
// return of Append to the call of the handler.
func BenchmarkAppendToHandler(b *testing.B) {
	store, f := newLog(b)
	ctx, cancel := context.WithCancel(b.Context())
	handled := make(chan time.Time, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- f.Subscribe(ctx, "bench", func(context.Context, eventstore.Recorded) error {
			handled <- time.Now()
			return nil
		})
	}()
	stream := eventstore.StreamID{Category: "test", ID: "a"}
	latencies := make([]time.Duration, 0, b.N)
	appendOne := func(version int64) {
		_, err := storetest.Append(ctx, store, eventstore.Batch{Writes: []eventstore.Write{{
			Stream: stream, Expected: version, Events: []eventstore.NewEvent{{Event: storetest.Noted{Text: "a"}}},
		}}})
		require.NoError(b, err)
		committed := time.Now()
		latencies = append(latencies, (<-handled).Sub(committed))
	}
	appendOne(0) // the first one waits for the subscriber to start
	latencies = latencies[:0]
	b.ResetTimer()
	for i := range b.N {
		appendOne(int64(i) + 1)
	}
	b.StopTimer()
	cancel()
	require.NoError(b, <-ended)
	slices.Sort(latencies)
	b.ReportMetric(float64(latencies[len(latencies)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(latencies[len(latencies)*95/100].Microseconds())/1000, "p95-ms")
}
