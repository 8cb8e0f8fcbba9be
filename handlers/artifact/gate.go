package artifact

import (
	"context"
	"fmt"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"vqa/domain/fault"
)

const (
	// PatienceS is how long a reader waits for a file, in seconds: less than proxies do.
	PatienceS = 50
	// MaxWaiting is how many readers may wait on this node.
	MaxWaiting = 64
	// againAfterS is when a reader who was sent away is to come again, in seconds.
	againAfterS = 5
	// lookEvery is how long an end may go unnoticed when its signal is lost, for instance
	// because another node drew.
	lookEvery = 500 * time.Millisecond
	// lookGap keeps a busy service from looking once for each change of others.
	lookGap = 100 * time.Millisecond
)

// Gate lets readers wait for files that are being drawn. Its zero value needs its fields
// filled before the first reader comes.
type Gate struct {
	// Drawing reports whether the artifacts of an analysis are still being drawn.
	Drawing func(ctx context.Context, analysisID string) (bool, error)
	// Wake subscribes to "something changed": the channel may miss signals, never the last
	// one. The function ends the subscription.
	Wake func() (<-chan struct{}, func())

	waiting atomic.Int64
}

// Wait returns when the file of a key is no longer being drawn, whether it is there or not.
// Error: capacity_exhausted with a Retry-After when that takes too long, or too many wait.
func (g *Gate) Wait(ctx context.Context, key string) error {
	defer g.waiting.Add(-1)
	if g.waiting.Add(1) > MaxWaiting {
		return again("Too many readers wait for files that are still drawn.")
	}
	wake, unsubscribe := g.Wake()
	defer unsubscribe()
	enough := time.NewTimer(PatienceS * time.Second)
	defer enough.Stop()
	for {
		if drawing, err := g.Drawing(ctx, analysisOf(key)); err != nil || !drawing {
			return err
		}
		for _, next := range []struct {
			wake  <-chan struct{}
			after time.Duration
		}{{nil, lookGap}, {wake, lookEvery - lookGap}} {
			select {
			case <-next.wake:
			case <-time.After(next.after):
			case <-enough.C:
				return again("The file is still drawn.")
			case <-ctx.Done():
				return fmt.Errorf("waiting for %s: %w", key, ctx.Err())
			}
		}
	}
}

func again(message string) error {
	return fault.New(fault.CapacityExhausted, message).WithRetryAfter(againAfterS)
}

// analysisOf is the analysis that a key was made for (Name).
func analysisOf(key string) string {
	analysisID, _, _ := strings.Cut(path.Base(key), ".")
	return analysisID
}
