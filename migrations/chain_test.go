package migrations_test

import (
	"context"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/migrations"
)

// TestEventsFromBeforeTheChainGetOne migrates a log without chains. The SQL that computes the chains
// must give the same bytes as codec.Link, and afterwards the log must be append-only again.
func TestEventsFromBeforeTheChainGetOne(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), empty(t)
	upTo(t, url, 2)
	conn, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	_, err = conn.Exec(ctx, `
		insert into events (stream, version, type, account_id, data, meta) values
			('credit/a', 1, 'credit.granted', 'a', '{"reason": "Käse, 1 < 2 & \u00e9", "n":1}', '{"actor":"operator:zoë"}'),
			('video/b',  1, 'video.registered', '', '{}', '{}'),
			('credit/a', 2, 'credit.held@2', 'a', '{ "seconds" : 3 }', '{"request_id":"req_1"}');
		insert into streams (stream, version, prior_version, snapshot, snapshot_version) values
			('credit/a', 2, 1, '{"old":true}', 2), ('video/b', 1, 0, null, 0), ('key/asserted', 0, 0, null, 0)`)
	require.NoError(t, err)

	require.NoError(t, migrations.Up(ctx, url))
	heads := map[string]eventstore.Chain{"key/asserted": {}}
	rows, err := conn.Query(ctx, "select stream, version, type, account_id, data::text, meta::text, chain from events order by position")
	require.NoError(t, err)
	var stream, data, meta string
	var e codec.Encoded
	var chain []byte
	_, err = pgx.ForEachRow(rows, []any{&stream, &e.Version, &e.Type, &e.AccountID, &data, &meta, &chain}, func() error {
		e.Stream, err = codec.ParseStreamID(stream)
		e.Data, e.Meta = []byte(data), []byte(meta)
		heads[stream] = codec.Link(heads[stream], e)
		require.Equal(t, heads[stream], eventstore.Chain(chain), "%s, version %d", stream, e.Version)
		return err
	})
	require.NoError(t, err)
	require.Len(t, heads, 3)

	found := map[string]eventstore.Chain{}
	rows, err = conn.Query(ctx, "select stream, chain from streams where snapshot is null")
	require.NoError(t, err)
	_, err = pgx.ForEachRow(rows, []any{&stream, &chain}, func() error {
		found[stream] = eventstore.Chain(chain)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, heads, found, "each head carries the chain of its last event, and no snapshot of another shape")
	_, err = conn.Exec(ctx, "update events set data = '{}'")
	require.ErrorContains(t, err, "append-only")
}

// upTo migrates to an older version.
func upTo(t *testing.T, url string, version int64) {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	defer pool.Close()
	db := stdlib.OpenDBFromPool(pool)
	defer func() { _ = db.Close() }()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, os.DirFS("."), goose.WithDisableGlobalRegistry(true))
	require.NoError(t, err)
	_, err = provider.UpTo(t.Context(), version)
	require.NoError(t, err)
}
