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

// middlewares are those of a subscription, the outermost first: whatever goes wrong
// in the handler becomes an error, is undone, tried again and at last parked.
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
		// Each attempt gets a deadline of its own.
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

// undecodableError says that trying again cannot help.
type undecodableError struct{ error }

func (e *undecodableError) Unwrap() error { return e.error }

// lostError says that the transaction itself failed, not the handler.
type lostError struct{ error }

func (e *lostError) Unwrap() error { return e.error }

type attemptsKey struct{}

// park is the outermost: it never returns an error, because Watermill would send
// the message again within the same transaction, for ever. An event during which
// the transaction was lost limit times is parked when it comes again: its handler
// is what breaks it.
func park(group string, limit int, log *slog.Logger) message.HandlerMiddleware {
	return func(next message.HandlerFunc) message.HandlerFunc {
		var losses struct { // of the subscription's one message at a time
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
				log.WarnContext(ctx, "a delivery was cut off and will be repeated", "position", msg.UUID, "error", err)
				if losses.id != msg.UUID {
					losses.id, losses.count = msg.UUID, 0
				}
				losses.count++
				losses.last = errors.New(err.Error()) // no longer a lostError
			}
			// Rolled back, the transaction cannot record the group's position after the
			// ack, and the batch is delivered anew.
			if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
				log.DebugContext(ctx, "roll back a lost transaction", "error", err)
			}
			return nil, nil
		}
	}
}

// maxParkedError bounds the text of an error in the table.
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

// unpark forgets that an event was parked, once it was handled after all.
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

// savepoint undoes what a failed attempt wrote, and only that.
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
				// Fails when the handler hid an error of its own statements.
				_, err = tx.ExecContext(ctx, "release savepoint delivery")
				if err == nil {
					return nil, nil
				}
				err = fmt.Errorf("the handler left its transaction broken: %w", err)
			}
			log.WarnContext(ctx, "a handler failed", "position", msg.UUID, "error", err)
			if _, lost := tx.ExecContext(ctx, "rollback to savepoint delivery"); lost != nil {
				return nil, &lostError{fmt.Errorf("after %w: %w", err, lost)}
			}
			return nil, err
		}
	}
}
