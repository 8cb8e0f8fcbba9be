package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// releaseTimeout is the longest time to end a reader's transaction.
const releaseTimeout = 5 * time.Second

// snapshot is one state of the database, read through several connections.
type snapshot struct {
	// planner is the transaction whose snapshot the readers share.
	planner pgx.Tx
	readers []pgx.Tx
	conns   []*pgxpool.Conn
}

// A transaction of an audit may run for a long time and be idle for a long time. Readers
// must read the log through an index, even when statistics suggest another plan.
const (
	noTimeouts = `set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0; `
	inOrder    = noTimeouts + `set local enable_seqscan = off; set local enable_bitmapscan = off; set local jit = off`
)

// openSnapshot starts a transaction for the planner and one for each reader.
func openSnapshot(ctx context.Context, pool *pgxpool.Pool, readers int) (_ *snapshot, err error) {
	s := &snapshot{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(ctx))
		}
	}()
	if s.planner, err = s.begin(ctx, pool, ""); err != nil {
		return nil, err
	}
	var name string
	if err := s.planner.QueryRow(ctx, "select pg_export_snapshot()").Scan(&name); err != nil {
		return nil, fmt.Errorf("share a snapshot: %w", err)
	}
	for range readers {
		tx, err := s.begin(ctx, pool, name)
		if err != nil {
			return nil, err
		}
		s.readers = append(s.readers, tx)
	}
	return s, nil
}

// begin starts a read-only transaction, in an exported snapshot if name is not empty.
func (s *snapshot) begin(ctx context.Context, pool *pgxpool.Pool, name string) (pgx.Tx, error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect a reader: %w", err)
	}
	s.conns = append(s.conns, conn)
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, fmt.Errorf("start reading: %w", err)
	}
	settings := noTimeouts
	if name != "" {
		settings = inOrder
		// SET takes no parameters. The name comes from Postgres and contains no quotes.
		if _, err := tx.Exec(ctx, "set transaction snapshot '"+name+"'"); err != nil {
			return nil, fmt.Errorf("join the snapshot: %w", err)
		}
	}
	if _, err := tx.Exec(ctx, settings); err != nil {
		return nil, fmt.Errorf("prepare a reader: %w", err)
	}
	return tx, nil
}

// close ends all transactions, even after ctx has ended.
func (s *snapshot) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	var failed error
	for _, conn := range s.conns {
		if !conn.Conn().IsClosed() {
			if _, err := conn.Exec(ctx, "rollback"); err != nil {
				failed = errors.Join(failed, fmt.Errorf("end a reader: %w", err))
			}
		}
		conn.Release()
	}
	return failed
}
