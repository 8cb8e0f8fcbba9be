package public_test

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/id"
	"vqa/domain/video"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
	"vqa/migrations"
	"vqa/projections/public"
	"vqa/projections/resources"
)

// start is the time of the first event of a world.
var start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// world is a log in its own database, with a reader.
type world struct {
	t      *testing.T
	pool   *pgxpool.Pool
	store  *postgres.Store
	reader *public.Reader
	ids    *id.Source
}

func open(t *testing.T) *world {
	t.Helper()
	pool, err := postgres.Connect(t.Context(), storetest.Database(t, migrations.Up, migrations.Version()))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	store := postgres.New(pool, codec.Events())
	return &world{t, pool, store, public.NewReader(store), id.NewSource(func() time.Time { return start }, rand.Reader)}
}

// tenant returns a new account.
func (w *world) tenant(livemode bool) resources.Tenant {
	return resources.Tenant{AccountID: w.ids.New(id.Account), Livemode: livemode}
}

// uploaded returns the batch of a video that is registered and ready, some seconds after
// the start.
func (w *world) uploaded(t resources.Tenant, seconds int) eventstore.Batch {
	videoID, at := w.ids.New(id.Video), start.Add(time.Duration(seconds)*time.Second)
	return batch(t, fold.Video.Stream(videoID), 0,
		video.Registered{VideoID: videoID, AccountID: t.AccountID, Livemode: t.Livemode, Source: video.SourceUpload, At: at},
		video.Ready{VideoID: videoID, File: video.File{ObjectKey: "uploads/" + videoID, ContentType: "video/mp4", SizeBytes: 9}, At: at},
	)
}

func batch(t resources.Tenant, stream eventstore.StreamID, expected int64, events ...eventstore.Event) eventstore.Batch {
	write := eventstore.Write{Stream: stream, Expected: expected}
	for _, e := range events {
		write.Events = append(write.Events, eventstore.NewEvent{Event: e, Meta: eventstore.Meta{AccountID: t.AccountID}})
	}
	return eventstore.Batch{Writes: []eventstore.Write{write}}
}

// append records a batch and returns its last event.
func (w *world) append(b eventstore.Batch) eventstore.Recorded {
	w.t.Helper()
	recorded, err := w.store.Append(w.t.Context(), b)
	require.NoError(w.t, err)
	return recorded[len(recorded)-1]
}

// ask records an analysis of an account from its creation to its end.
func (w *world) ask(t resources.Tenant, end func(analysisID string, at time.Time) analysis.Event) eventstore.Recorded {
	w.t.Helper()
	analysisID := w.ids.New(id.Analysis)
	return w.append(batch(t, fold.Analysis.Stream(analysisID), 0,
		analysis.Created{AnalysisID: analysisID, AccountID: t.AccountID, Livemode: t.Livemode, Origin: analysis.OriginAPI, At: start},
		analysis.Started{AnalysisID: analysisID, Attempt: 1, At: start}, end(analysisID, start.Add(time.Minute)),
	))
}

// late starts a transaction that has written a batch and is not committed yet.
func (w *world) late(b eventstore.Batch) (commit func()) {
	w.t.Helper()
	tx, err := w.pool.Begin(w.t.Context())
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	encoded, err := codec.Events().Encode(b)
	require.NoError(w.t, err)
	for _, e := range encoded {
		_, err := tx.Exec(w.t.Context(), `insert into events (stream, version, type, account_id, data, meta, chain)
			values ($1, $2, $3, $4, $5, $6, $7)`, e.Stream.String(), e.Version, e.Type, e.AccountID, e.Data, e.Meta, e.Chain[:])
		require.NoError(w.t, err)
	}
	return func() { require.NoError(w.t, tx.Commit(w.t.Context())) }
}

// order returns the ids of an account's public events in the order of the log.
func (w *world) order(t resources.Tenant) []string {
	w.t.Helper()
	all, err := w.store.Read(w.t.Context(), 0, 10_000)
	require.NoError(w.t, err)
	var ids []string
	for _, e := range all {
		if eventID, ok := public.ID(e); ok && e.Meta.AccountID == t.AccountID {
			ids = append(ids, eventID)
		}
	}
	return ids
}

func ids(list []public.Event) []string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = e.ID
	}
	return out
}

// plan returns the query plan of the database.
func (w *world) plan(sql string, args ...any) string {
	w.t.Helper()
	conn, err := w.pool.Acquire(w.t.Context())
	require.NoError(w.t, err)
	defer conn.Release()
	// Without an index the planner would read the whole table, because it is small.
	_, err = conn.Exec(w.t.Context(), "reset role; analyze events; set role vqa_service; set enable_seqscan = off")
	require.NoError(w.t, err)
	rows, err := conn.Query(w.t.Context(), "explain "+sql, args...)
	require.NoError(w.t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(w.t, err)
	return strings.Join(lines, "\n")
}
