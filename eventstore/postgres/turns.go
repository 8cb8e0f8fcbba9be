package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"vqa/eventstore"
)

var _ eventstore.Turns = (*Store)(nil)

const (
	// turnLock is the first key of the advisory locks of turns.
	turnLock = 0x7475726e // "turn"
	// turnLimit is how long a session may be idle in a turn or a hold before Postgres ends it. A
	// node that is stopped must not keep others waiting longer than eventstore.CallerPatience.
	turnLimit = 2 * time.Second
	// turnConns is the number of connections that a pool must have for turns. The holder of a
	// turn needs a second connection, and must not wait for holders that need one, too.
	turnConns = 8
)

// An advisory lock is granted in the order of the requests. A row lock is not: the session that
// released it may take it again before a waiting one wakes up.
const turnSQL = `
select case when pg_try_advisory_xact_lock($1, hashtext($2)) then false
            else (select true from pg_advisory_xact_lock($1, hashtext($2))) end`

// Turn implements eventstore.Turns. The turn is an advisory lock in a transaction of its own, which
// is idle otherwise. A pool with fewer than turnConns connections gives no turns: Turn returns at once.
func (s *Store) Turn(ctx context.Context, accountID string) (waited bool, end func(), err error) {
	if s.pool.Stat().MaxConns() < turnConns {
		return true, func() {}, nil
	}
	conn, err := s.begin(ctx, func(trip *pgx.Batch) {
		trip.Queue(turnSQL, turnLock, accountID).QueryRow(func(row pgx.Row) error { return row.Scan(&waited) })
	})
	if err != nil {
		return false, nil, fmt.Errorf("wait for the turn of %s: %w", accountID, err)
	}
	return waited, func() { rollBack(ctx, conn) }, nil
}

// hold is a transaction that has locked the heads of some streams.
type hold struct {
	conn *pgxpool.Conn
	// ended is true after an append.
	ended bool
}

type holdKey struct{}

// holdOf returns the open hold of a context, or nil.
func holdOf(ctx context.Context) *hold {
	if h, ok := ctx.Value(holdKey{}).(*hold); ok && !h.ended {
		return h
	}
	return nil
}

func (h *hold) end(ctx context.Context) {
	if !h.ended {
		h.ended = true
		rollBack(ctx, h.conn)
	}
}

// lockSQL locks heads in the order of their names, so that two holds never meet a deadlock.
const lockSQL = "select from streams where stream = any($1) order by stream for update"

// Hold implements eventstore.Turns. Appends of other processes wait for the locked rows and then
// meet a conflict. An append locks the heads that it changes before those that it only asserts, so
// Postgres may find a deadlock with a hold. Error: *eventstore.ConflictError then.
func (s *Store) Hold(ctx context.Context, streams ...eventstore.StreamID) (held context.Context, release func(), err error) {
	names := make([]string, len(streams))
	for i, id := range streams {
		names[i] = id.String()
	}
	conn, err := s.begin(ctx, func(trip *pgx.Batch) { trip.Queue(lockSQL, names) })
	if lostRace(err) {
		return nil, nil, &eventstore.ConflictError{Stream: streams[0], Expected: -1, Actual: -1}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("lock streams: %w", err)
	}
	h := &hold{conn: conn}
	return context.WithValue(ctx, holdKey{}, h), func() { h.end(ctx) }, nil
}

// begin starts a transaction with the queued statements in one round trip.
func (s *Store) begin(ctx context.Context, queue func(*pgx.Batch)) (*pgxpool.Conn, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	trip := &pgx.Batch{}
	trip.Queue("begin")
	trip.Queue(fmt.Sprintf("set local idle_in_transaction_session_timeout = %d", turnLimit.Milliseconds()))
	queue(trip)
	if err := conn.SendBatch(ctx, trip).Close(); err != nil {
		rollBack(ctx, conn)
		return nil, err
	}
	return conn, nil
}

// rollBack ends the transaction of a connection and returns the connection to its pool. The pool
// closes a connection whose transaction did not end.
func rollBack(ctx context.Context, conn *pgxpool.Conn) {
	defer conn.Release()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if conn.Conn().PgConn().TxStatus() != 'I' {
		_, _ = conn.Exec(ctx, "rollback")
	}
}
