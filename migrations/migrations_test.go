package migrations_test

import (
	"context"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"vqa/eventstore/storetest"
	"vqa/migrations"
)

// empty returns the URL of a database without a schema.
func empty(t *testing.T) string {
	return storetest.Database(t, func(context.Context, string) error { return nil }, "empty")
}

func TestUpFromManyProcesses(t *testing.T) {
	t.Parallel()
	url := empty(t)
	failures := make([]error, 4)
	var running sync.WaitGroup
	for i := range failures {
		running.Go(func() { failures[i] = migrations.Up(t.Context(), url) })
	}
	running.Wait()
	for _, err := range failures {
		require.NoError(t, err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	var applied, distinct, river int
	require.NoError(t, conn.QueryRow(t.Context(), `select count(*), count(distinct version_id),
		(select count(*) from river_migration) from goose_db_version`).Scan(&applied, &distinct, &river))
	require.Equal(t, distinct, applied, "a migration ran twice")
	require.GreaterOrEqual(t, applied, 2)
	require.Positive(t, river)
}

func TestUpFromManyDatabases(t *testing.T) {
	t.Parallel()
	// Roles belong to the whole server, so simultaneous migrations of several databases may
	// conflict there.
	urls := []string{empty(t), empty(t), empty(t)}
	failures := make([]error, len(urls))
	var running sync.WaitGroup
	for i, url := range urls {
		running.Go(func() { failures[i] = migrations.Up(t.Context(), url) })
	}
	running.Wait()
	for _, err := range failures {
		require.NoError(t, err)
	}
}

// TestUpAsOrdinaryOwner migrates as a user who owns the database and may create roles, but is not a
// superuser.
func TestUpAsOrdinaryOwner(t *testing.T) {
	t.Parallel()
	url := empty(t)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	// The name of a test database ends in random characters. A role's name must begin with a
	// letter.
	name := conn.Config().Database
	owner := "owner_" + name[len(name)-8:]
	_, err = conn.Exec(t.Context(), `create role `+owner+` login createrole password 'secret';
		alter schema public owner to `+owner)
	require.NoError(t, err)
	t.Cleanup(func() {
		admin, err := pgx.Connect(context.Background(), url)
		require.NoError(t, err)
		defer func() { _ = admin.Close(context.Background()) }()
		_, err = admin.Exec(context.Background(), "drop owned by "+owner+" cascade; drop role "+owner)
		require.NoError(t, err)
	})
	asOwner := regexp.MustCompile(`//[^@]*@`).ReplaceAllString(url, "//"+owner+":secret@")
	require.NoError(t, migrations.Up(t.Context(), asOwner))
	service, err := pgx.Connect(t.Context(), asOwner)
	require.NoError(t, err)
	defer func() { _ = service.Close(context.Background()) }()
	_, err = service.Exec(t.Context(), `set role vqa_service;
		insert into events (stream, version, type, account_id, data, meta, chain) values ('a/b', 1, 'x', '', '{}', '{}', sha256(''))`)
	require.NoError(t, err)
	var settled int64
	require.NoError(t, service.QueryRow(t.Context(), "select events_settled()").Scan(&settled))
	require.Equal(t, int64(1), settled)
}

func TestUpErrors(t *testing.T) {
	t.Parallel()
	require.Error(t, migrations.Up(t.Context(), "postgres://%zz"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, migrations.Up(ctx, empty(t)), context.Canceled)
}

func TestVersionIsStable(t *testing.T) {
	t.Parallel()
	require.Regexp(t, "^[0-9a-f]{64}$", migrations.Version())
	require.Equal(t, migrations.Version(), migrations.Version())
}

func TestSchemaRefusesNonsense(t *testing.T) {
	t.Parallel()
	url := storetest.Database(t, migrations.Up, migrations.Version())
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	for _, sql := range []string{
		`insert into events (stream, version, type, account_id, data, meta, chain) values ('a', 1, 'x', '', '{}', '{}', sha256(''))`,
		`insert into events (stream, version, type, account_id, data, meta, chain) values ('a/b', 0, 'x', '', '{}', '{}', sha256(''))`,
		`insert into events (stream, version, type, account_id, data, meta, chain) values ('a/b', 1, '', '', '{}', '{}', sha256(''))`,
		`insert into events (stream, version, type, account_id, data, meta, chain) values ('a/b', 1, 'x', '', '{', '{}', sha256(''))`,
		`insert into events (position, stream, version, type, account_id, data, meta, chain) values (1, 'a/b', 1, 'x', '', '{}', '{}', sha256(''))`,
		`insert into events (stream, version, type, account_id, data, meta, chain) values ('a/b', 1, 'x', '', '{}', '{}', 'short')`,
		`insert into events (stream, version, type, account_id, data, meta) values ('a/b', 1, 'x', '', '{}', '{}')`,
		`insert into streams (chain, stream, version, prior_version) values (sha256(''), 'a/b', 1, 2)`,
		`insert into streams (chain, stream, version, prior_version, snapshot_version) values (sha256(''), 'a/b', 1, 0, 1)`,
		`insert into streams (chain, stream, version, prior_version, snapshot, snapshot_version) values (sha256(''), 'a/b', 1, 0, '{}', 2)`,
		`insert into receipts values ('a', 'k', 'short', '', 0, '', now())`,
		`insert into subscriptions (name, position) values ('a', -1)`,
		`insert into parked values ('a', 1, '', 0)`,
		`insert into ledger_checkpoints values ('a', 0, 1, '{}')`,
		`insert into ledger_checkpoints values ('a', 1, 0, '{}')`,
	} {
		_, err := conn.Exec(t.Context(), sql)
		require.Error(t, err, sql)
	}
}

// TestAMigrationGivesWay: a migration that must wait for a table does not keep the service waiting behind
// it for longer than its lock timeout.
func TestAMigrationGivesWay(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), empty(t)
	upTo(t, url, 20)
	reader, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	defer func() { _ = reader.Close(context.Background()) }()
	tx, err := reader.Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "lock table nodes in access share mode")
	require.NoError(t, err)
	migrated := make(chan error, 1)
	go func() { migrated <- migrations.Up(ctx, url) }()

	service, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	defer func() { _ = service.Close(context.Background()) }()
	waits := func() (n int) {
		require.NoError(t, service.QueryRow(ctx, `select count(*) from pg_locks where relation = 'nodes'::regclass and not granted`).Scan(&n))
		return n
	}
	for range 2 { // it tries again
		require.Eventually(t, func() bool { return waits() > 0 }, time.Minute, time.Millisecond)
		_, err = service.Exec(ctx, "select * from nodes") // it waits behind the migration, which gives way
		require.NoError(t, err)
	}
	require.NoError(t, tx.Rollback(ctx))
	require.NoError(t, <-migrated)
	require.EqualValues(t, 21, min(migrations.Generation(), 21))
}
