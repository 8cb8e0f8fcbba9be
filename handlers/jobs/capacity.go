package jobs

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"vqa/domain/fault"
	"vqa/gpu"
)

// readyFor is how long an engine that answered counts as ready without another check. A
// create must not wait for a health check.
const readyFor = 2 * time.Second

// readyTimeout bounds one health check.
const readyTimeout = 2 * time.Second

// Capacity implements command.Capacity.
type Capacity struct {
	Engine gpu.Engine
	Queue  interface {
		QueuedAnalyses(ctx context.Context) (int, error)
		RoomIn(ctx context.Context, places int) (seconds int, known bool)
	}
	Now func() time.Time

	checks  singleflight.Group
	readyAt atomic.Int64 // Unix nanoseconds; 0 before the engine has answered
}

// InferenceReady returns nil when the engine answers. It returns capacity_exhausted when
// the engine answers that it has no room, else inference_unavailable.
func (c *Capacity) InferenceReady(ctx context.Context) error {
	if at := c.readyAt.Load(); at != 0 && c.Now().Sub(time.Unix(0, at)) < readyFor {
		return nil
	}
	// Concurrent callers share one check. They must not wait one after the other for an
	// engine that hangs. The check continues when its first caller leaves.
	_, err, _ := c.checks.Do("", func() (any, error) { return nil, c.check(context.WithoutCancel(ctx)) })
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (c *Capacity) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	err := c.Engine.Ready(ctx)
	if errors.Is(err, gpu.ErrSaturated) {
		return fault.New(fault.CapacityExhausted, "").WithRetryAfter(5).WithCause(err)
	}
	if err != nil {
		return fault.New(fault.InferenceUnavailable, "").WithRetryAfter(5).WithCause(err)
	}
	c.readyAt.Store(c.Now().UnixNano())
	return nil
}

// QueuedAnalyses counts the live analyses that wait for a worker.
func (c *Capacity) QueuedAnalyses(ctx context.Context) (int, error) {
	return c.Queue.QueuedAnalyses(ctx)
}

// RoomIn returns when so many of the waiting analyses will have started.
func (c *Capacity) RoomIn(ctx context.Context, places int) (seconds int, known bool) {
	return c.Queue.RoomIn(ctx, places)
}
