package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"vqa/eventstore"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
)

// requireWaiting waits until a session waits for a lock.
func requireWaiting(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	require.Eventually(t, func() bool {
		var waiting bool
		err := pool.QueryRow(t.Context(), `select exists (select from pg_locks where not granted
			and (database is null or database = (select oid from pg_database where datname = current_database())))`).Scan(&waiting)
		return err == nil && waiting
	}, 30*time.Second, time.Millisecond)
}

// TestTurnsFollowEachOther: the second process gets the turn when the first one ends it. Another account is free.
func TestTurnsFollowEachOther(t *testing.T) {
	t.Parallel()
	pool, _ := connect(t)
	one, two := postgres.New(pool, storetest.Codec()), postgres.New(pool, storetest.Codec())
	waited, end, err := one.Turn(t.Context(), "acct_1")
	require.NoError(t, err)
	require.False(t, waited)
	granted := make(chan bool)
	go func() {
		waited, end, err := two.Turn(context.WithoutCancel(t.Context()), "acct_1")
		if err == nil {
			defer end()
		}
		granted <- err == nil && waited
	}()
	requireWaiting(t, pool)
	_, other, err := two.Turn(t.Context(), "acct_2")
	require.NoError(t, err)
	other()
	select {
	case <-granted:
		t.Fatal("two processes have the turn")
	default:
	}
	end()
	require.True(t, <-granted)
}

// TestStoppedProcessLosesItsTurn: a process that does nothing keeps neither its turn nor its locks for long, and
// cannot append with them later.
func TestStoppedProcessLosesItsTurn(t *testing.T) {
	t.Parallel()
	pool, _ := connect(t)
	stopped, other := postgres.New(pool, storetest.Codec()), postgres.New(pool, storetest.Codec())
	appendOne(t, other, "a", 0)
	a := eventstore.StreamID{Category: "test", ID: "a"}
	_, end, err := stopped.Turn(t.Context(), "acct_1")
	require.NoError(t, err)
	held, release, err := stopped.Hold(t.Context(), a)
	require.NoError(t, err)
	histories, err := stopped.Load(held, a)
	require.NoError(t, err)

	waited, theirs, err := other.Turn(t.Context(), "acct_1")
	require.NoError(t, err)
	require.True(t, waited)
	theirs()
	_, err = storetest.Append(t.Context(), other, one("a", 1))
	require.NoError(t, err)

	late := one("a", histories[a].Version)
	late.Writes[0].Chain = histories[a].Chain
	_, err = stopped.Append(held, late)
	require.Error(t, err)
	release()
	end()
	require.Equal(t, []string{"a", "a"}, streams(t, other, 0))
}

// TestHoldKeepsOthersFromAppending: an append of another process waits for the holder and then meets a conflict.
func TestHoldKeepsOthersFromAppending(t *testing.T) {
	t.Parallel()
	pool, _ := connect(t)
	holder, other := postgres.New(pool, storetest.Codec()), postgres.New(pool, storetest.Codec())
	appendOne(t, other, "a", 0)
	a := eventstore.StreamID{Category: "test", ID: "a"}
	held, release, err := holder.Hold(t.Context(), a)
	require.NoError(t, err)
	defer release()
	overtaken := make(chan error)
	go func() {
		_, err := storetest.Append(context.WithoutCancel(t.Context()), other, one("a", 1))
		overtaken <- err
	}()
	requireWaiting(t, pool)
	histories, err := holder.Load(held, a)
	require.NoError(t, err)
	batch := one("a", histories[a].Version)
	batch.Writes[0].Chain = histories[a].Chain
	_, err = holder.Append(held, batch)
	require.NoError(t, err)
	var conflict *eventstore.ConflictError
	require.ErrorAs(t, <-overtaken, &conflict)
	require.Equal(t, int64(2), conflict.Actual)

	// A refused append ends the hold, too.
	held, release, err = holder.Hold(t.Context(), a)
	require.NoError(t, err)
	defer release()
	_, err = storetest.Append(held, holder, one("a", 1))
	require.ErrorAs(t, err, &conflict)
	_, err = storetest.Append(t.Context(), other, one("a", 2))
	require.NoError(t, err)
	histories, err = holder.Load(held, a)
	require.NoError(t, err)
	require.Equal(t, int64(3), histories[a].Version)
}

// TestADeadlockOfAHoldIsAConflict: another session locks the same heads in the opposite order. The caller
// of the hold is told to try again. Postgres ends the session that waited first, unless it had waited for
// a second before the other one came.
func TestADeadlockOfAHoldIsAConflict(t *testing.T) {
	t.Parallel()
	pool, _ := connect(t)
	holder := postgres.New(pool, storetest.Codec())
	appendOne(t, holder, "a", 0)
	appendOne(t, holder, "b", 0)
	var ended error
	for tries := 0; ended == nil && tries < 5; tries++ {
		ended = deadlock(t, pool, holder)
	}
	var conflict *eventstore.ConflictError
	require.ErrorAs(t, ended, &conflict)
}

// deadlock returns the error of the hold, or nil when Postgres ended the other session.
func deadlock(t *testing.T, pool *pgxpool.Pool, holder *postgres.Store) error {
	t.Helper()
	other, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = other.Rollback(context.WithoutCancel(t.Context())) }()
	lock := func(name string) error {
		_, err := other.Exec(t.Context(), "select from streams where stream = $1 for update", name)
		return err
	}
	require.NoError(t, lock("test/b"))
	result := make(chan error, 1)
	go func() {
		a, b := eventstore.StreamID{Category: "test", ID: "a"}, eventstore.StreamID{Category: "test", ID: "b"}
		_, release, err := holder.Hold(context.WithoutCancel(t.Context()), a, b)
		if err == nil {
			release()
		}
		result <- err
	}()
	requireWaiting(t, pool)
	if lock("test/a") != nil {
		require.NoError(t, other.Rollback(t.Context()))
	}
	return <-result
}
