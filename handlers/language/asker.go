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
	// failures in a row after which a model is left alone.
	failures = 3
	// pause is for how long.
	pause = 30 * time.Second
)

// errResting is why a model that keeps failing was not asked.
var errResting = errors.New("the model is left alone after failures")

// asker asks a model one kind of question, and stops asking while that is of no use.
type asker struct {
	chat    *chat.Client
	breaker *gobreaker.CircuitBreaker
	task    string
	log     *slog.Logger
	// failing is true from the first failure to the next success.
	failing atomic.Bool
}

func newAsker(c *chat.Client, task string, pause time.Duration, log *slog.Logger) *asker {
	return &asker{chat: c, task: task, log: log, breaker: gobreaker.NewCircuitBreaker(gobreaker.Settings{
		Name: task, Timeout: pause,
		ReadyToTrip: func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= failures },
		// Who left has learned nothing about the model.
		IsSuccessful: func(err error) bool { return err == nil || errors.Is(err, context.Canceled) },
	})}
}

// ask returns what read makes of the answer. An error of read counts as one of the model,
// and wraps chat.ErrInvalid. Errors are those of chat.Client.Ask; chat.ErrUnavailable too for a
// model that is left alone.
func ask[T any](ctx context.Context, a *asker, q chat.Request, read func(json.RawMessage) (T, error)) (T, error) {
	var out T
	_, err := a.breaker.Execute(func() (any, error) {
		raw, err := a.chat.Ask(ctx, q)
		if err == nil {
			out, err = read(raw)
		}
		return nil, err
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return out, fmt.Errorf("%w: %w", chat.ErrUnavailable, errResting)
	}
	a.note(ctx, err)
	return out, err
}

// note says once that a model fails, and once that it does no longer.
func (a *asker) note(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
	case err != nil && !a.failing.Swap(true):
		a.log.WarnContext(ctx, "a language model fails; the service does without it", "task", a.task, "model", a.chat.Model(), "error", err)
	case err == nil && a.failing.Swap(false):
		a.log.InfoContext(ctx, "the language model answers again", "task", a.task, "model", a.chat.Model())
	}
}

// garbage is an answer that satisfies the schema and makes no sense.
func garbage(format string, args ...any) error {
	return fmt.Errorf("%w: %w", chat.ErrInvalid, fmt.Errorf(format, args...))
}
