package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"vqa/eventstore"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
)

func TestTheLogIsAppendOnly(t *testing.T) {
	t.Parallel()
	pool, url := connect(t)
	appendOne(t, postgres.New(pool, storetest.Codec()), "a", 0)
	owner, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = owner.Close(context.Background()) }()

	for _, sql := range []string{
		"update events set data = '{}'",
		"update events set data = '{}' where false",
		"delete from events",
		"truncate events",
		"truncate events cascade",
		"insert into events (stream, version, type, account_id, data, meta, chain) select stream, version, type, account_id, data, meta, chain from events on conflict (stream, version) do update set data = '{}'",
	} {
		for who, exec := range map[string]func(context.Context, string, ...any) (pgconn.CommandTag, error){
			"service": pool.Exec, "owner": owner.Exec,
		} {
			_, err := exec(t.Context(), sql)
			var pg *pgconn.PgError
			require.ErrorAs(t, err, &pg, "%s: %s", who, sql)
			require.Equal(t, "42501", pg.Code, "%s: %s: %s", who, sql, pg.Message)
		}
	}
	require.Equal(t, []string{"a"}, streams(t, postgres.New(pool, storetest.Codec()), 0))
}

func TestTheServiceIsNotTheOwner(t *testing.T) {
	t.Parallel()
	pool, _ := connect(t)
	var role, application, isolation string
	require.NoError(t, pool.QueryRow(t.Context(), `select current_user, current_setting('application_name'),
		current_setting('transaction_isolation')`).Scan(&role, &application, &isolation))
	require.Equal(t, []string{postgres.Role, "vqa", "read committed"}, []string{role, application, isolation})
	for _, sql := range []string{
		"drop table events", "alter table events disable trigger all", "create table mine (n int)",
		"select setval('events_position_seq', 1)",
	} {
		_, err := pool.Exec(t.Context(), sql)
		var pg *pgconn.PgError
		require.ErrorAs(t, err, &pg, sql)
		require.Equal(t, "42501", pg.Code, sql)
	}
	// It may use River's tables.
	_, err := pool.Exec(t.Context(), "select count(*) from river_job; delete from river_job; delete from river_leader")
	require.NoError(t, err)
}

func TestConnectNamesTheMissingMigration(t *testing.T) {
	t.Parallel()
	url := storetest.Database(t, func(context.Context, string) error { return nil }, "nothing")
	pool, err := postgres.Connect(t.Context(), url)
	if err == nil {
		// The role exists because of another database on this server, but the tables are missing.
		defer pool.Close()
		_, err = postgres.New(pool, storetest.Codec()).Read(t.Context(), 0, 1)
	}
	require.Error(t, err)
	_, err = postgres.Connect(t.Context(), "postgres://%zz")
	require.Error(t, err)
}

func TestAConflictBurnsNoPosition(t *testing.T) {
	t.Parallel()
	pool, _ := connect(t)
	store := postgres.New(pool, storetest.Codec())
	first := appendOne(t, store, "a", 0)
	for range 5 {
		_, err := storetest.Append(t.Context(), store, one("a", 0))
		var conflict *eventstore.ConflictError
		require.ErrorAs(t, err, &conflict)
	}
	require.Equal(t, first.Position+1, appendOne(t, store, "a", 1).Position)
}

func TestAHeadThatLagsIsAConflict(t *testing.T) {
	t.Parallel()
	pool, _ := connect(t)
	store := postgres.New(pool, storetest.Codec())
	// An event without its head, which only another program can insert. The unique index refuses
	// the append.
	_, err := pool.Exec(t.Context(), insertSQL, "test/a", 1)
	require.NoError(t, err)
	_, err = storetest.Append(t.Context(), store, one("a", 0))
	var conflict *eventstore.ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, int64(-1), conflict.Actual)
}

func TestADeadlockIsAConflict(t *testing.T) {
	t.Parallel()
	pool, url := connect(t)
	owner, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = owner.Close(context.Background()) }()
	store := postgres.New(pool, storetest.Codec())
	appendOne(t, store, "a", 0)
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	lock := func(id string) error {
		_, err := tx.Exec(t.Context(), "select from streams where stream = $1 for update", "test/"+id)
		return err
	}
	appendOne(t, store, "b", 0)
	require.NoError(t, lock("b"))

	appended := make(chan error, 1)
	go func() {
		b := one("a", 1)
		b.Writes = append(b.Writes, one("b", 1).Writes...)
		_, err := storetest.Append(t.Context(), store, b)
		appended <- err
	}()
	// The append has locked a and waits for b. Now this transaction locks a.
	require.Eventually(t, func() bool {
		var waiting int
		err := owner.QueryRow(t.Context(), `select count(*) from pg_stat_activity
			where datname = current_database() and wait_event_type = 'Lock'`).Scan(&waiting)
		return err == nil && waiting == 1
	}, 10*time.Second, 5*time.Millisecond)
	lockErr := lock("a")
	appendErr := <-appended
	var conflict *eventstore.ConflictError
	if lockErr == nil {
		require.ErrorAs(t, appendErr, &conflict)
		return
	}
	require.NoError(t, appendErr, "the other transaction was chosen as the victim: %v", lockErr)
}

// tally is a read model of one row.
type tally struct{ fail error }

func (p tally) Queue(trip *pgx.Batch, writes []eventstore.Write) error {
	for _, w := range writes {
		trip.Queue(`insert into subscriptions (name, position) values ('tally', $1)
			on conflict (name) do update set position = subscriptions.position + excluded.position`, len(w.Events))
	}
	return p.fail
}

func TestReadModelsCommitWithTheirEvents(t *testing.T) {
	t.Parallel()
	pool, _ := connect(t)
	count := func() (n int64) {
		require.NoError(t, pool.QueryRow(t.Context(),
			"select coalesce(sum(position), 0)::bigint from subscriptions").Scan(&n))
		return n
	}
	store := postgres.New(pool, storetest.Codec(), postgres.WithProjections(tally{}))
	appendOne(t, store, "a", 0)
	require.Equal(t, int64(1), count())

	refuse := errors.New("refused")
	failing := postgres.New(pool, storetest.Codec(), postgres.WithProjections(tally{}, tally{fail: refuse}))
	_, err := storetest.Append(t.Context(), failing, one("a", 1))
	require.ErrorIs(t, err, refuse)
	require.Equal(t, int64(1), count())
	require.Equal(t, []string{"a"}, streams(t, store, 0))
	require.Equal(t, int64(2), appendOne(t, store, "a", 1).Version, "the head has not changed")
}

func TestRunWakesListeners(t *testing.T) {
	t.Parallel()
	pool, url := connect(t)
	store := postgres.New(pool, storetest.Codec())
	listener, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = listener.Close(context.Background()) }()
	_, err = listener.Exec(t.Context(), "listen "+postgres.Channel)
	require.NoError(t, err)

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- store.Run(ctx) }()
	appendOne(t, store, "a", 0)
	wait, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	n, err := listener.WaitForNotification(wait)
	require.NoError(t, err)
	require.Equal(t, postgres.Channel, n.Channel)
	stop()
	require.NoError(t, <-ended)
}

func TestDeleteExpiredReceipts(t *testing.T) {
	t.Parallel()
	pool, _ := connect(t)
	store := postgres.New(pool, storetest.Codec())
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	b := one("a", 0)
	for i, key := range []string{"k1", "k2", "k3"} {
		b.Receipts = append(b.Receipts, eventstore.Receipt{
			AccountID: "acct_1", Key: key, CreatedAt: now.Add(-eventstore.ReceiptWindow).Add(time.Duration(i-1) * time.Second),
		})
	}
	_, err := storetest.Append(t.Context(), store, b)
	require.NoError(t, err)
	for _, want := range []int64{1, 1, 0} {
		n, err := store.DeleteExpiredReceipts(t.Context(), now, 1)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	_, found, err := store.Receipt(t.Context(), "acct_1", "k3", now)
	require.NoError(t, err)
	require.True(t, found)
}
