package postgres_test

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/video"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
	"vqa/migrations"
)

// The benchmarks use the test server, which may run without fsync. Set VQA_TEST_DATABASE_URL to measure a server with
// the settings of production.

// clients runs b.N appends by n clients, each with its own connection.
func clients(b *testing.B, n int, run func(store *postgres.Store, client int, next func() bool) error) {
	b.Helper()
	database := storetest.Database(b, migrations.Up, migrations.Version())
	u, err := url.Parse(database)
	require.NoError(b, err)
	query := u.Query()
	query.Set("pool_max_conns", strconv.Itoa(n))
	u.RawQuery = query.Encode()
	pool, err := postgres.Connect(b.Context(), u.String())
	require.NoError(b, err)
	defer pool.Close()
	store := postgres.New(pool, storetest.Codec())

	var taken atomic.Int64
	next := func() bool { return taken.Add(1) <= int64(b.N) }
	failures := make([]error, n)
	b.ResetTimer()
	var running sync.WaitGroup
	for client := range n {
		running.Go(func() { failures[client] = run(store, client, next) })
	}
	running.Wait()
	b.StopTimer()
	require.NoError(b, errors.Join(failures...))
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
}

var clientCounts = []int{1, 8, 32}

// anyChain gives the writes an arbitrary chain. Loading the real one would distort the measurement.
func anyChain(batch eventstore.Batch) eventstore.Batch {
	for i := range batch.Writes {
		if w := &batch.Writes[i]; w.Expected > 0 {
			w.Chain = eventstore.Chain{1}
		}
	}
	return batch
}

// BenchmarkAppendManyStreams appends one event to the client's own stream.
func BenchmarkAppendManyStreams(b *testing.B) {
	for _, n := range clientCounts {
		b.Run(fmt.Sprintf("clients=%d", n), func(b *testing.B) {
			clients(b, n, func(store *postgres.Store, client int, next func() bool) error {
				for version := int64(0); next(); version++ {
					if _, err := store.Append(b.Context(), anyChain(one(fmt.Sprint(client), version))); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// BenchmarkAppendThreeStreams appends to two new streams and the client's own one, as the creation of an analysis does.
func BenchmarkAppendThreeStreams(b *testing.B) {
	for _, n := range clientCounts {
		b.Run(fmt.Sprintf("clients=%d", n), func(b *testing.B) {
			clients(b, n, func(store *postgres.Store, client int, next func() bool) error {
				for version := int64(0); next(); version++ {
					batch := one(fmt.Sprint(client), version)
					batch.Writes = append(batch.Writes, one(fmt.Sprint(client, "-a-", version), 0).Writes...)
					batch.Writes = append(batch.Writes, one(fmt.Sprint(client, "-b-", version), 0).Writes...)
					if _, err := store.Append(b.Context(), anyChain(batch)); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// BenchmarkAppendOneHotStream lets all clients append to one stream. After a conflict a client tries again.
func BenchmarkAppendOneHotStream(b *testing.B) {
	for _, n := range clientCounts {
		b.Run(fmt.Sprintf("clients=%d", n), func(b *testing.B) {
			var conflicts atomic.Int64
			clients(b, n, func(store *postgres.Store, _ int, next func() bool) error {
				var version int64
				for next() {
					for {
						_, err := store.Append(b.Context(), anyChain(one("hot", version)))
						var conflict *eventstore.ConflictError
						if !errors.As(err, &conflict) {
							if err != nil {
								return err
							}
							version++
							break
						}
						conflicts.Add(1)
						version = max(conflict.Actual, 0)
					}
				}
				return nil
			})
			b.ReportMetric(float64(conflicts.Load())/float64(b.N), "conflicts/append")
		})
	}
}

// BenchmarkRead pages through the whole log. An operation is one event.
func BenchmarkRead(b *testing.B) {
	pool, _ := connect(b)
	store := postgres.New(pool, storetest.Codec())
	_, err := pool.Exec(b.Context(), `insert into events (stream, version, type, account_id, data, meta, chain)
		select 'test/' || n, 1, 'storetest.noted', 'acct_1', '{"text":"some text","number":1}', '{}', sha256('')
		from generate_series(1, $1::int) n`, b.N)
	require.NoError(b, err)
	b.ResetTimer()
	read, after := 0, int64(0)
	for {
		events, err := store.Read(b.Context(), after, 1000)
		require.NoError(b, err)
		if len(events) == 0 {
			break
		}
		read, after = read+len(events), events[len(events)-1].Position
	}
	require.Equal(b, b.N, read)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkLoadOfAVideo loads and folds a video with 500 analyses that have ended, from all events and
// from the latest snapshot, which is 40 events old.
func BenchmarkLoadOfAVideo(b *testing.B) {
	const events, after = 1000, 40
	pool, err := postgres.Connect(b.Context(), storetest.Database(b, migrations.Up, migrations.Version()))
	require.NoError(b, err)
	defer pool.Close()
	store := postgres.New(pool, codec.Events())
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, snapshot := range []bool{false, true} {
		id := fmt.Sprintf("video_%t", snapshot)
		var state video.State
		var chain eventstore.Chain
		for version := range int64(events) {
			analysisID := fmt.Sprintf("an_%026d", version/2)
			var e video.Event = video.AnalysisOpened{VideoID: id, AnalysisID: analysisID, At: at}
			switch {
			case version == 0:
				e = video.Registered{VideoID: id, AccountID: "acct_1", Livemode: true, Source: video.SourceUpload, ContentType: "video/mp4", At: at}
			case version%2 == 0:
				e = video.AnalysisClosed{VideoID: id, AnalysisID: fmt.Sprintf("an_%026d", version/2-1), At: at}
			}
			state = video.Evolve(state, e)
			w := eventstore.Write{
				Stream: fold.Video.Stream(id), Expected: version, Chain: chain, State: state,
				Events: []eventstore.NewEvent{{Event: e, Meta: eventstore.Meta{AccountID: "acct_1", RequestID: "req_1", Actor: "system:worker"}}},
			}
			if snapshot && version == events-after-1 {
				w.Snapshot, err = fold.Video.Snapshot(state)
				require.NoError(b, err)
			}
			recorded, err := store.Append(b.Context(), eventstore.Batch{Writes: []eventstore.Write{w}})
			require.NoError(b, err)
			chain = recorded[0].Chain
		}
		b.Run(fmt.Sprintf("snapshot=%t", snapshot), func(b *testing.B) {
			for b.Loop() {
				histories, err := store.Load(b.Context(), fold.Video.Stream(id))
				require.NoError(b, err)
				loaded, err := fold.Video.Restore(histories[fold.Video.Stream(id)])
				require.NoError(b, err)
				require.Equal(b, state.Status, loaded.Status)
			}
		})
	}
}
