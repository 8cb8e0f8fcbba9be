package feed

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
)

// middlewares returns the middlewares of a subscription, the outermost first. From the inside out: a
// panic or a timeout becomes an error. The writes of the attempt are undone. The handler is tried
// again. Finally the event is parked.
func (f *Feed) middlewares(group string, log *slog.Logger) []message.HandlerMiddleware {
	retry := middleware.Retry{
		MaxRetries:      f.attempts - 1,
		InitialInterval: f.firstPause,
		MaxInterval:     maxPause,
		Multiplier:      2,
		ShouldRetry: func(p middleware.RetryParams) bool {
			var undecodable *undecodableError
			var lost *lostError
			return !errors.As(p.Err, &undecodable) && !errors.As(p.Err, &lost)
		},
		// Each attempt gets its own deadline.
		ResetContextOnRetry: true,
	}
	return []message.HandlerMiddleware{
		park(group, f.attempts, log),
		retry.Middleware,
		savepoint(log),
		middleware.Timeout(f.handlerTimeout),
		middleware.Recoverer,
	}
}

// undecodableError says that the event cannot be decoded, so another attempt is useless.
type undecodableError struct{ error }

func (e *undecodableError) Unwrap() error { return e.error }

// lostError says that the transaction itself failed, not the handler.
type lostError struct{ error }

func (e *lostError) Unwrap() error { return e.error }

type attemptsKey struct{}

// park is the outermost middleware. It never returns an error, because Watermill would then send the
// message again within the same transaction, endlessly. When the transaction was lost limit times
// during the same event, park parks the event, because its handler is the likely cause.
func park(group string, limit int, log *slog.Logger) message.HandlerMiddleware {
	return func(next message.HandlerFunc) message.HandlerFunc {
		var losses struct { // of the current message; a subscription has one at a time
			id    string
			count int
			last  error
		}
		return func(msg *message.Message) ([]*message.Message, error) {
			attempts := 0
			ctx := context.WithValue(msg.Context(), attemptsKey{}, &attempts)
			msg.SetContext(ctx)
			tx := Tx(ctx)
			var err error
			if losses.id == msg.UUID && losses.count >= limit {
				attempts, err = losses.count, losses.last
			} else if _, err = next(msg); err == nil {
				err = unpark(ctx, tx, group, msg)
			}
			if err == nil {
				return nil, nil
			}
			var lost *lostError
			if ctx.Err() == nil && !errors.As(err, &lost) {
				log.ErrorContext(ctx, "an event was parked", "position", msg.UUID,
					"type", msg.Metadata.Get(keyType), "attempts", attempts, "error", err)
				if err = recordParked(ctx, tx, group, msg, attempts, err); err == nil {
					return nil, nil
				}
			}
			if ctx.Err() == nil && attempts > 0 {
				log.WarnContext(ctx, "a delivery was interrupted and will be repeated", "position", msg.UUID, "error", err)
				if losses.id != msg.UUID {
					losses.id, losses.count = msg.UUID, 0
				}
				losses.count++
				losses.last = errors.New(err.Error()) // no longer a lostError
			}
			// After the rollback, recording the group's position at the ack fails, and the
			// batch is delivered again.
			if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
				log.DebugContext(ctx, "roll back a lost transaction", "error", err)
			}
			return nil, nil
		}
	}
}

// maxParkedError bounds the text of a stored error, in characters.
const maxParkedError = 4000

func recordParked(ctx context.Context, tx *sql.Tx, group string, msg *message.Message, attempts int, cause error) error {
	text := []rune(cause.Error())
	_, err := tx.ExecContext(ctx, `insert into parked (subscription, position, error, attempts)
		values ($1, $2::bigint, $3, $4)
		on conflict (subscription, position) do update
		set error = excluded.error, attempts = parked.attempts + excluded.attempts, at = clock_timestamp()`,
		group, msg.Metadata.Get(keyPosition), string(text[:min(len(text), maxParkedError)]), attempts)
	if replay := msg.Metadata.Get(keyReplay); err == nil && replay != "" {
		_, err = tx.ExecContext(ctx, "update replays set failed = failed + 1 where id = $1::bigint", replay)
	}
	return err
}

// unpark removes an event from the parked ones after a replay has handled it.
func unpark(ctx context.Context, tx *sql.Tx, group string, msg *message.Message) error {
	if msg.Metadata.Get(keyReplay) == "" {
		return nil
	}
	_, err := tx.ExecContext(ctx, "delete from parked where subscription = $1 and position = $2::bigint",
		group, msg.Metadata.Get(keyPosition))
	if err != nil {
		return &lostError{fmt.Errorf("after the handler: %w", err)}
	}
	return nil
}

// savepoint undoes the writes of a failed attempt, and only those.
func savepoint(log *slog.Logger) message.HandlerMiddleware {
	return func(next message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) ([]*message.Message, error) {
			ctx := msg.Context()
			tx := Tx(ctx)
			if _, err := tx.ExecContext(ctx, "savepoint delivery"); err != nil {
				return nil, &lostError{fmt.Errorf("before the handler: %w", err)}
			}
			if attempts, ok := ctx.Value(attemptsKey{}).(*int); ok {
				*attempts++
			}
			_, err := next(msg)
			if err == nil {
				// This fails when the handler ignored an error of one of its statements.
				_, err = tx.ExecContext(ctx, "release savepoint delivery")
				if err == nil {
					return nil, nil
				}
				err = fmt.Errorf("the handler ignored an SQL error in its transaction: %w", err)
			}
			log.WarnContext(ctx, "a handler failed", "position", msg.UUID, "error", err)
			if _, lost := tx.ExecContext(ctx, "rollback to savepoint delivery"); lost != nil {
				return nil, &lostError{fmt.Errorf("after %w: %w", err, lost)}
			}
			return nil, err
		}
	}
}
