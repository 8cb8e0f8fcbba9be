package postgres_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"vqa/eventstore"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
)

// insertSQL inserts an event as any program could, for example psql.
const insertSQL = `insert into events (stream, version, type, account_id, data, meta, chain)
	values ($1, $2, 'storetest.noted', '', '{"text":"","number":0}', '{}', sha256('')) returning position`

// open begins a transaction on its own connection and inserts one event.
func open(t *testing.T, pool *pgxpool.Pool, stream string) (tx pgx.Tx, position int64) {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	require.NoError(t, tx.QueryRow(t.Context(), insertSQL, stream, 1).Scan(&position))
	return tx, position
}

// streams returns the streams of the events that a reader gets, in order.
func streams(t *testing.T, store *postgres.Store, after int64) []string {
	t.Helper()
	events, err := store.Read(t.Context(), after, 100)
	require.NoError(t, err)
	var ids []string
	for _, e := range events {
		ids = append(ids, e.Stream.ID)
	}
	return ids
}

func TestReadWaitsForAnEarlierPosition(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		end  func(context.Context, pgx.Tx) error
		want []string
	}{
		"that commits":      {func(ctx context.Context, tx pgx.Tx) error { return tx.Commit(ctx) }, []string{"before", "late", "after"}},
		"that rolls back":   {func(ctx context.Context, tx pgx.Tx) error { return tx.Rollback(ctx) }, []string{"before", "after"}},
		"whose writer dies": {terminate, []string{"before", "after"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, _ := connect(t)
			store := postgres.New(pool, storetest.Codec())
			appendOne(t, store, "before", 0)
			tx, late := open(t, pool, "test/late")
			after := appendOne(t, store, "after", 0)
			require.Greater(t, after.Position, late)

			require.Equal(t, []string{"before"}, streams(t, store, 0))
			require.Empty(t, streams(t, store, late-1), "a reader that is up to date")
			require.NoError(t, test.end(t.Context(), tx))
			if name == "whose writer dies" {
				waitGone(t, pool)
			}
			require.Equal(t, test.want, streams(t, store, 0))
		})
	}
}

// terminate ends a transaction as a crash of its client does.
func terminate(_ context.Context, tx pgx.Tx) error {
	return tx.Conn().PgConn().Conn().Close()
}

// waitGone waits until no writer holds a position.
func waitGone(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	require.Eventually(t, func() bool {
		var open int
		err := pool.QueryRow(t.Context(), `select count(*) from pg_locks
			where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`).Scan(&open)
		return err == nil && open == 0
	}, 10*time.Second, 5*time.Millisecond)
}

func TestReadDoesNotWaitForUnrelatedTransactions(t *testing.T) {
	t.Parallel()
	pool, _ := connect(t)
	store := postgres.New(pool, storetest.Codec())
	gone, _ := open(t, pool, "test/gone")
	require.NoError(t, gone.Rollback(t.Context()))
	appendOne(t, store, "a", 0)

	// A transaction without events, such as a long report, does not delay readers.
	idle, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = idle.Rollback(context.Background()) }()
	_, err = idle.Exec(t.Context(), "update subscriptions set position = position")
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, streams(t, store, 0))

	// A writer that began later delays only later events.
	later, _ := open(t, pool, "test/later")
	require.Equal(t, []string{"a"}, streams(t, store, 0))
	appendOne(t, store, "b", 0)
	require.Equal(t, []string{"a"}, streams(t, store, 0))
	require.NoError(t, later.Commit(t.Context()))
	require.Equal(t, []string{"a", "later", "b"}, streams(t, store, 0))
}

func TestWaitingForAHeadDoesNotDelayReaders(t *testing.T) {
	t.Parallel()
	pool, _ := connect(t)
	store := postgres.New(pool, storetest.Codec())
	appendOne(t, store, "a", 0)
	holder, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = holder.Rollback(context.Background()) }()
	_, err = holder.Exec(t.Context(), "select from streams where stream = 'test/a' for update")
	require.NoError(t, err)

	appended := make(chan error, 1)
	go func() {
		_, err := storetest.Append(t.Context(), store, one("a", 1))
		appended <- err
	}()
	require.Eventually(t, func() bool {
		var waiting int
		err := pool.QueryRow(t.Context(), "select count(*) from pg_locks where not granted and transactionid is not null").Scan(&waiting)
		return err == nil && waiting > 0
	}, 10*time.Second, 5*time.Millisecond)
	appendOne(t, store, "b", 0)
	require.Equal(t, []string{"a", "b"}, streams(t, store, 0))
	require.NoError(t, holder.Rollback(t.Context()))
	require.NoError(t, <-appended)
}

func TestReadDoesNotWaitForAnotherDatabase(t *testing.T) {
	t.Parallel()
	pool, _ := connect(t)
	other, _ := connect(t)
	open(t, other, "test/elsewhere")
	store := postgres.New(pool, storetest.Codec())
	appendOne(t, store, "a", 0)
	require.Equal(t, []string{"a"}, streams(t, store, 0))
}

func TestReadGoesOnAfterTerminatedBackend(t *testing.T) {
	t.Parallel()
	pool, owner := connect(t)
	store := postgres.New(pool, storetest.Codec())
	tx, _ := open(t, pool, "test/late")
	appendOne(t, store, "after", 0)
	require.Empty(t, streams(t, store, 0))

	admin, err := pgx.Connect(t.Context(), owner)
	require.NoError(t, err)
	defer func() { _ = admin.Close(context.Background()) }()
	var ended bool
	require.NoError(t, admin.QueryRow(t.Context(), "select pg_terminate_backend($1, 5000)",
		tx.Conn().PgConn().PID()).Scan(&ended))
	require.True(t, ended)
	require.Equal(t, []string{"after"}, streams(t, store, 0))
}

// writerEnv is the variable that makes this test binary a writer. It stops in the middle of its transaction.
const writerEnv = "VQA_TEST_WRITER_URL"

func TestReadGoesOnAfterKilledProcess(t *testing.T) {
	if url := os.Getenv(writerEnv); url != "" {
		writeAndHang(url)
		return
	}
	t.Parallel()
	pool, url := connect(t)
	store := postgres.New(pool, storetest.Codec())

	writer := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	writer.Env = append(os.Environ(), writerEnv+"="+url)
	out, err := writer.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, writer.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "written\n", line)

	appendOne(t, store, "after", 0)
	require.Empty(t, streams(t, store, 0), "the process still runs")
	require.NoError(t, writer.Process.Kill())
	require.Error(t, writer.Wait())
	waitGone(t, pool)
	require.Equal(t, []string{"after"}, streams(t, store, 0))
}

func writeAndHang(url string) {
	ctx := context.Background()
	pool, err := postgres.Connect(ctx, url)
	if err == nil {
		var tx pgx.Tx
		if tx, err = pool.Begin(ctx); err == nil {
			_, err = tx.Exec(ctx, insertSQL, "test/killed", 1)
		}
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("written")
	time.Sleep(time.Minute) // it is killed before
}

// TestReadLosesAndReordersNothing runs 12 writers with random pauses and rollbacks beside readers of small pages.
func TestReadLosesAndReordersNothing(t *testing.T) {
	t.Parallel()
	pool, _ := connect(t)
	const writers, each = 12, 40
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	var writing, reading sync.WaitGroup
	committed := make([]int, writers)
	failures := make([]error, writers+2)
	for i := range writers {
		writing.Go(func() {
			random := rand.New(rand.NewPCG(7, uint64(i)))
			committed[i], failures[i] = writeWithPauses(ctx, pool, random, fmt.Sprint("test/w", i), each)
		})
	}
	done := make(chan struct{})
	seen := make([][]eventstore.Recorded, 2)
	for i := range seen {
		reading.Go(func() {
			// Each reader has its own store, because a store caches the settled position.
			seen[i], failures[writers+i] = follow(ctx, postgres.New(pool, storetest.Codec()), 5+20*i, done)
		})
	}
	writing.Wait()
	close(done)
	reading.Wait()
	require.NoError(t, errors.Join(failures...))
	total := 0
	for _, n := range committed {
		total += n
	}
	for _, events := range seen {
		require.NoError(t, storetest.CheckOrder(events))
		require.Len(t, events, total)
	}
}

// writeWithPauses commits events of one stream in transactions of several statements. It returns how many it
// committed.
func writeWithPauses(ctx context.Context, pool *pgxpool.Pool, random *rand.Rand, stream string, transactions int) (int, error) {
	pause := func() { time.Sleep(time.Duration(random.IntN(4)) * time.Millisecond) }
	version := 0
	for range transactions {
		tx, err := pool.Begin(ctx)
		if err != nil {
			return 0, err
		}
		pause()
		n := 1 + random.IntN(3)
		for i := range n {
			if _, err := tx.Exec(ctx, insertSQL, stream, version+i+1); err != nil {
				return 0, errors.Join(err, tx.Rollback(ctx))
			}
			pause()
		}
		if random.IntN(4) == 0 {
			err = tx.Rollback(ctx)
		} else {
			err = tx.Commit(ctx)
			version += n
		}
		if err != nil {
			return 0, err
		}
	}
	return version, nil
}

// follow reads until done is closed and there are no further events.
func follow(ctx context.Context, store *postgres.Store, page int, done <-chan struct{}) ([]eventstore.Recorded, error) {
	var seen []eventstore.Recorded
	after := int64(0)
	for last := false; ; {
		events, err := store.Read(ctx, after, page)
		if err != nil {
			return nil, err
		}
		if len(events) > 0 {
			seen, after = append(seen, events...), events[len(events)-1].Position
			continue
		}
		if last {
			return seen, nil
		}
		select {
		case <-done:
			last = true
		default:
		}
	}
}

func appendOne(t *testing.T, store *postgres.Store, id string, expected int64) eventstore.Recorded {
	t.Helper()
	recorded, err := storetest.Append(t.Context(), store, one(id, expected))
	require.NoError(t, err)
	require.Len(t, recorded, 1)
	return recorded[0]
}

func one(id string, expected int64) eventstore.Batch {
	return eventstore.Batch{Writes: []eventstore.Write{{
		Stream: eventstore.StreamID{Category: "test", ID: id}, Expected: expected,
		Events: []eventstore.NewEvent{{Event: storetest.Noted{Text: id, Number: int(expected) + 1}}},
	}}}
}
