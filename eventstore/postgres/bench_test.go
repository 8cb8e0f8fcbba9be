package postgres_test

import (
	"fmt"
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
