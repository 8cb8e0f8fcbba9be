package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

// Append implements eventstore.Store. When a receipt is taken and a stream has another version, it
// reports the receipt, because repeating the decision would not help.
func (s *Store) Append(ctx context.Context, batch eventstore.Batch) ([]eventstore.Recorded, error) {
	if s.refuse != nil {
		return nil, s.refuse
	}
	batch, err := s.withNonces(batch)
	if err != nil {
		return nil, err
	}
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
		s.appended.add(recorded)
		s.wake()
	}
	return recorded, nil
}

// errMoved says that a head or a receipt was not as the batch expected.
var errMoved = errors.New("the batch was decided on an older state")

// record makes the append in one round trip. Its statement and those of the read models share one
// transaction, which Postgres begins with the first statement and commits after the last. Errors:
// errMoved, *eventstore.UncertainError.
func (s *Store) record(ctx context.Context, batch eventstore.Batch, encoded []codec.Encoded) ([]eventstore.Recorded, error) {
	trip := &pgx.Batch{}
	recorded := queue(trip, batch, encoded, s.guard)
	if len(encoded) > 0 {
		for _, p := range s.projections {
			if err := p.Queue(trip, batch.Writes); err != nil {
				return nil, fmt.Errorf("append: read model: %w", err)
			}
		}
	}
	if h := holdOf(ctx); h != nil {
		// The locks end with the append. After an error explain must not wait for them.
		defer h.end(ctx)
		trip.Queue("commit")
		return recorded, outcome(h.conn.SendBatch(ctx, trip).Close())
	}
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("append: %w", err)
	}
	defer conn.Release()
	return recorded, outcome(conn.SendBatch(ctx, trip).Close())
}

// outcome distinguishes a transaction that Postgres refused from one without a response.
func outcome(err error) error {
	var refused *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused) && refused.Code == appendRefused:
		return errMoved
	case errors.As(err, &refused) && !strings.HasPrefix(refused.Code, operatorIntervention), pgconn.SafeToRetry(err):
		return fmt.Errorf("append: %w", err)
	default:
		return &eventstore.UncertainError{Cause: fmt.Errorf("append: %w", err)}
	}
}

// appendRefused is the error code of the function append_refused.
const appendRefused = "VQ409"

// operatorIntervention is the prefix of the error codes of a server that closes a connection. These
// errors may come after a commit.
const operatorIntervention = "57P"

// The error codes of Postgres that mean that another writer was first.
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

// explain finds the cause of a refused batch after the rollback.
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
	// The other writer has rolled back in the meantime.
	w := batch.Writes[0]
	return &eventstore.ConflictError{Stream: w.Stream, Expected: w.Expected, Actual: -1}
}
