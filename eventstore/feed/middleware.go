package feed

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	watermillsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
)

// undecodableError says that the event cannot be decoded, so another attempt is useless.
type undecodableError struct{ error }

func (e *undecodableError) Unwrap() error { return e.error }

// lostError says that the transaction itself failed. attempted is true when the handler had started,
// so that it may be the cause.
type lostError struct {
	error
	attempted bool
}

func (e *lostError) Unwrap() error { return e.error }

// delivery is one message, with what the group must know of it.
type delivery struct {
	position        int64
	stream, account string
	// attempts counts the earlier attempts that were recorded.
	attempts int
	replay   string
}

func deliveryOf(msg *message.Message) (d delivery, err error) {
	d.stream, d.account, d.replay = msg.Metadata.Get(keyStream), msg.Metadata.Get(keyAccount), msg.Metadata.Get(keyReplay)
	if d.position, err = strconv.ParseInt(msg.Metadata.Get(keyPosition), 10, 64); err == nil {
		d.attempts, err = strconv.Atoi(msg.Metadata.Get(keyAttempts))
	}
	return d, err
}

// deliver is the outermost middleware. It never returns an error, because Watermill would then send the
// message again within the same transaction, endlessly. When the outcome cannot be recorded, it rolls
// back. Then recording the group's position at the ack fails, and the batch is delivered again.
func (s *source) deliver(next message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		ctx := msg.Context()
		tx, _ := watermillsql.TxFromContext(ctx)
		err := s.handle(ctx, tx, msg, next)
		if err == nil {
			return nil, nil
		}
		if ctx.Err() == nil {
			s.log.WarnContext(ctx, "a delivery was interrupted and will be repeated", "position", msg.UUID, "error", err)
		}
		if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
			s.log.DebugContext(ctx, "roll back a lost transaction", "error", err)
		}
		return nil, nil
	}
}

// handle makes one attempt, unless an earlier event of the stream is set aside, and records the outcome
// in the transaction. An error means that the transaction is lost or the subscription ends.
func (s *source) handle(ctx context.Context, tx *sql.Tx, msg *message.Message, next message.HandlerFunc) error {
	d, err := deliveryOf(msg)
	if err != nil {
		return err
	}
	if s.replayed.stopped != 0 {
		return nil // the replay continues with the event that failed
	}
	if s.turn == turnLog && s.waiting {
		if behind, err := s.mustWait(ctx, tx, d); err != nil || behind {
			return err
		}
	}
	if s.slow[d.account] {
		return s.postpone(ctx, tx, d)
	}
	// An attempt that the last transaction did not survive counts now.
	failure := s.lost.take(d.position)
	if failure != nil {
		s.slow[d.account] = true // this batch must commit
	} else {
		began := time.Now()
		_, failure = next(msg)
		var lost *lostError
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(failure, &lost):
			if lost.attempted {
				s.lost.note(d.position, failure)
				s.wasSlow(d.account)
			}
			return failure
		case failure == nil:
			return s.succeeded(ctx, tx, d)
		case time.Since(began) > slowAttempt:
			s.wasSlow(d.account)
		}
	}
	return s.failed(ctx, tx, d, msg.Metadata.Get(keyType), failure)
}

// attempt is the transaction of one attempt.
type attempt struct {
	tx *sql.Tx
	// makeSavepoint sets begun and lost. It does not end at the handler's deadline, because an error of the
	// savepoint means that the transaction is lost.
	makeSavepoint func()
	begin         sync.Once
	// begun is true when the handler took the transaction. lost is the error of its savepoint.
	begun bool
	lost  error
}

type attemptKey struct{}

// savepoint undoes the writes of a failed attempt, and only those. A handler that does not use the transaction
// costs no round trip.
func savepoint(log *slog.Logger) message.HandlerMiddleware {
	return func(next message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) ([]*message.Message, error) {
			ctx := msg.Context()
			tx, _ := watermillsql.TxFromContext(ctx)
			a := &attempt{tx: tx}
			a.makeSavepoint = func() { _, a.lost = tx.ExecContext(ctx, "savepoint delivery"); a.begun = true }
			msg.SetContext(context.WithValue(ctx, attemptKey{}, a))
			_, err := next(msg)
			msg.SetContext(ctx)
			if a.lost != nil {
				return nil, &lostError{fmt.Errorf("before the handler: %w", a.lost), false}
			}
			if err == nil && a.begun {
				// This fails when the handler ignored an error of one of its statements.
				if _, err = tx.ExecContext(ctx, "release savepoint delivery"); err != nil {
					err = fmt.Errorf("the handler ignored an SQL error in its transaction: %w", err)
				}
			}
			if err == nil {
				return nil, nil
			}
			log.WarnContext(ctx, "a handler failed", "position", msg.UUID, "error", err)
			if !a.begun {
				return nil, err
			}
			if _, lost := tx.ExecContext(ctx, "rollback to savepoint delivery"); lost != nil {
				return nil, &lostError{fmt.Errorf("after %w: %w", err, lost), true}
			}
			return nil, err
		}
	}
}
