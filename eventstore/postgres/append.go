package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

// rollbackTimeout bounds the rollback of an append whose own context has ended.
const rollbackTimeout = 5 * time.Second

// Append implements eventstore.Store. When both a receipt is taken and a stream has
// moved on, the receipt is reported, because deciding anew would not help.
func (s *Store) Append(ctx context.Context, batch eventstore.Batch) ([]eventstore.Recorded, error) {
	encoded, err := s.codec.Encode(batch)
	if err != nil {
		return nil, err
	}
	recorded, err := s.record(ctx, batch, encoded)
	switch {
	case errors.Is(err, errMoved):
		return nil, s.explain(ctx, batch)
	case lostRace(err):
		return nil, &eventstore.ConflictError{
			Stream: batch.Writes[0].Stream, Expected: batch.Writes[0].Expected, Actual: -1,
		}
	case err != nil:
		return nil, err
	}
	if len(recorded) > 0 {
		s.wake()
	}
	return recorded, nil
}

// errMoved says that a head or a receipt was not as the batch expects it.
var errMoved = errors.New("the batch was decided on an older state")

// record runs the transaction. It returns errMoved before any position is taken.
func (s *Store) record(ctx context.Context, batch eventstore.Batch, encoded []codec.Encoded) ([]eventstore.Recorded, error) {
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("append: begin: %w", err)
	}
	defer func() {
		// Without effect after a commit.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
		defer cancel()
		_ = tx.Rollback(ctx)
	}()
	recorded, err := insert(ctx, tx, batch, encoded)
	if err != nil {
		return nil, err
	}
	if len(recorded) > 0 {
		for _, p := range s.projections {
			if err := p.Apply(ctx, tx, recorded); err != nil {
				return nil, fmt.Errorf("append: read model %T: %w", p, err)
			}
		}
	}
	if err := tx.Commit(ctx); err != nil {
		return nil, committing(err)
	}
	return recorded, nil
}

// committing tells a refused commit, which Postgres answers, from one whose answer
// never came.
func committing(err error) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) || errors.Is(err, pgx.ErrTxCommitRollback) || errors.Is(err, pgx.ErrTxClosed) {
		return fmt.Errorf("append: commit: %w", err)
	}
	return &eventstore.UncertainError{Cause: fmt.Errorf("append: commit: %w", err)}
}

// The errors of Postgres that mean that another writer was first.
const (
	uniqueViolation      = "23505"
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
)

func lostRace(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	switch pg.Code {
	case deadlockDetected, serializationFailure:
		return true
	case uniqueViolation:
		return pg.ConstraintName == "events_stream_version_key"
	}
	return false
}

// explain finds out, after the rollback, what stood in a batch's way.
func (s *Store) explain(ctx context.Context, batch eventstore.Batch) error {
	for _, r := range batch.Receipts {
		_, found, err := s.Receipt(ctx, r.AccountID, r.Key, r.CreatedAt)
		if err != nil {
			return err
		}
		if found {
			return &eventstore.ReceiptError{AccountID: r.AccountID, Key: r.Key}
		}
	}
	names := make([]string, len(batch.Writes))
	for i, w := range batch.Writes {
		names[i] = w.Stream.String()
	}
	rows, err := s.pool.Query(ctx, "select stream, version from streams where stream = any($1)", names)
	if err != nil {
		return fmt.Errorf("append: find the conflict: %w", err)
	}
	actual := map[string]int64{}
	var name string
	var version int64
	if _, err := pgx.ForEachRow(rows, []any{&name, &version}, func() error {
		actual[name] = version
		return nil
	}); err != nil {
		return fmt.Errorf("append: find the conflict: %w", err)
	}
	for _, w := range batch.Writes {
		if at := actual[w.Stream.String()]; at != w.Expected {
			return &eventstore.ConflictError{Stream: w.Stream, Expected: w.Expected, Actual: at}
		}
	}
	// Whoever stood in the way rolled back meanwhile.
	w := batch.Writes[0]
	return &eventstore.ConflictError{Stream: w.Stream, Expected: w.Expected, Actual: -1}
}
