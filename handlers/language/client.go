package language

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker"

	"vqa/gpu/chat"
)

const (
	// maxFailures is the number of failures in a row after which requests pause.
	maxFailures = 3
	// pauseAfterFailures is the length of that pause.
	pauseAfterFailures = 30 * time.Second
)

// errPaused is the cause of an error when requests to a failing model pause.
var errPaused = errors.New("requests to the model pause after repeated failures")

// modelClient sends a model the requests of one task, and pauses them while the model fails.
type modelClient struct {
	chat    *chat.Client
	breaker *gobreaker.CircuitBreaker
	task    string
	log     *slog.Logger
	// failing is true from the first failure to the next success.
	failing atomic.Bool
}

func newModelClient(c *chat.Client, task string, pause time.Duration, log *slog.Logger) *modelClient {
	return &modelClient{chat: c, task: task, log: log, breaker: gobreaker.NewCircuitBreaker(gobreaker.Settings{
		Name: task, Timeout: pause,
		ReadyToTrip: func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= maxFailures },
		// A canceled request says nothing about the model.
		IsSuccessful: func(err error) bool { return err == nil || errors.Is(err, context.Canceled) },
	})}
}

// ask returns the result of read for the answer of the model. An error of read counts as a
// failure of the model; read wraps it in chat.ErrInvalid. The other errors are those of
// chat.Client.Ask. While requests pause the error is chat.ErrUnavailable.
func ask[T any](ctx context.Context, a *modelClient, q chat.Request, read func(json.RawMessage) (T, error)) (T, error) {
	var out T
	_, err := a.breaker.Execute(func() (any, error) {
		raw, err := a.chat.Ask(ctx, q)
		if err == nil {
			out, err = read(raw)
		}
		return nil, err
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return out, fmt.Errorf("%w: %w", chat.ErrUnavailable, errPaused)
	}
	a.note(ctx, err)
	return out, err
}

// note logs once that a model fails, and once that it works again.
func (a *modelClient) note(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
	case err != nil && !a.failing.Swap(true):
		a.log.WarnContext(ctx, "language model fails, continuing without it", "task", a.task, "model", a.chat.Model(), "error", err)
	case err == nil && a.failing.Swap(false):
		a.log.InfoContext(ctx, "language model works again", "task", a.task, "model", a.chat.Model())
	}
}

// invalid is the error for an answer that matches the schema but makes no sense.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", chat.ErrInvalid, fmt.Errorf(format, args...))
}
