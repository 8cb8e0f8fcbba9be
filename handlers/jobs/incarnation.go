package jobs

import (
	"context"
	"fmt"
	"time"

	"vqa/eventstore"
)

// Leases gives a node the right to work.
type Leases interface {
	// Lease returns the current lease. While there is none, it waits, until ctx ends.
	Lease(ctx context.Context) (eventstore.Lease, error)
}

const (
	// restartPause is the pause before River is started again after it could not start.
	restartPause = time.Second
	// windDown bounds the wait for jobs that ignore the end of their lease. They cannot record
	// anything, so the next incarnation starts without them.
	windDown = 30 * time.Second
)

// Run works jobs during each lease of this node, until ctx ends. When a lease is over, it cancels the
// running jobs at once and works none until the next lease. When ctx ends, running jobs have two
// seconds to end before they are cut off.
func (c *Client) Run(ctx context.Context, leases Leases) {
	for ctx.Err() == nil {
		lease, err := leases.Lease(ctx)
		if err != nil {
			return
		}
		if err := c.runIncarnation(ctx, lease); err != nil && ctx.Err() == nil {
			c.options.Log.Error("could not work jobs; trying again", "node", lease.Incarnation(), "error", err)
			select {
			case <-time.After(restartPause):
			case <-ctx.Done():
			}
		}
	}
}

// runIncarnation works jobs until the lease is over or ctx ends.
func (c *Client) runIncarnation(ctx context.Context, lease eventstore.Lease) error {
	working, err := c.worker(lease)
	if err != nil {
		return err
	}
	if err := working.Start(ctx); err != nil {
		return err
	}
	stop := working.Stop
	select {
	case <-lease.Context().Done():
		stop = working.StopAndCancel
	case <-ctx.Done():
	}
	waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), windDown)
	defer cancel()
	if err := stop(waiting); err != nil {
		return fmt.Errorf("stop the jobs: %w", err)
	}
	return nil
}
