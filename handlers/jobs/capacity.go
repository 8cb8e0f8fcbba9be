package jobs

import (
	"context"
	"errors"
	"sync"
	"time"

	"vqa/domain/fault"
	"vqa/gpu"
)

// readyFor is how long an engine that answered counts as ready without being asked
// again: a create must not wait for a health check.
const readyFor = 2 * time.Second

// readyTimeout bounds one health check.
const readyTimeout = 2 * time.Second

// Capacity implements command.Capacity.
type Capacity struct {
	Engine gpu.Engine
	Queue  interface {
		QueuedAnalyses(ctx context.Context) (int, error)
	}
	Now func() time.Time

	mu      sync.Mutex
	readyAt time.Time
}

// InferenceReady returns nil when the engine answers, else inference_unavailable.
func (c *Capacity) InferenceReady(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.readyAt.IsZero() && c.Now().Sub(c.readyAt) < readyFor {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	err := c.Engine.Ready(ctx)
	if err == nil {
		c.readyAt = c.Now()
		return nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return fault.New(fault.InferenceUnavailable, "").WithRetryAfter(5).WithCause(err)
}

// QueuedAnalyses counts the live analyses that wait for a worker.
func (c *Capacity) QueuedAnalyses(ctx context.Context) (int, error) {
	return c.Queue.QueuedAnalyses(ctx)
}
