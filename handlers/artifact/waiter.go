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
	// patienceS is the time that a reader waits for a file, in seconds. It is shorter than the
	// timeouts of usual proxies.
	patienceS = 50
	// maxWaiting is the number of readers that may wait on this node.
	maxWaiting = 64
	// retryAfterS tells a refused reader when to try again, in seconds.
	retryAfterS = 5
	// checkEvery is the time between two checks without a signal. Signals are lost, for
	// example, when another node renders.
	checkEvery = 500 * time.Millisecond
	// minCheckGap limits the checks of a busy service, in which every change is a signal.
	minCheckGap = 100 * time.Millisecond
)

// Waiter lets readers wait for pending artifacts. Set its fields before the first reader comes.
type Waiter struct {
	// Drawing reports whether the artifacts of an analysis are still pending.
	Drawing func(ctx context.Context, analysisID string) (bool, error)
	// Wake subscribes to changes. The channel may miss signals, but never the last one. The
	// function ends the subscription.
	Wake func() (<-chan struct{}, func())

	waiting atomic.Int64
}

// Wait returns when the artifact with a key has been drawn or given up. The file may be missing.
// It returns capacity_exhausted with a Retry-After after patienceS, or when maxWaiting readers
// wait already.
func (w *Waiter) Wait(ctx context.Context, key string) error {
	defer w.waiting.Add(-1)
	if w.waiting.Add(1) > maxWaiting {
		return notReady("Too many readers are waiting for artifacts. Try again later.")
	}
	wake, unsubscribe := w.Wake()
	defer unsubscribe()
	enough := time.NewTimer(patienceS * time.Second)
	defer enough.Stop()
	for {
		if drawing, err := w.Drawing(ctx, analysisOf(key)); err != nil || !drawing {
			return err
		}
		for _, next := range []struct {
			wake  <-chan struct{}
			after time.Duration
		}{{nil, minCheckGap}, {wake, checkEvery - minCheckGap}} {
			select {
			case <-next.wake:
			case <-time.After(next.after):
			case <-enough.C:
				return notReady("The artifact is not ready yet. Try again later.")
			case <-ctx.Done():
				return fmt.Errorf("artifact: waiting for %s: %w", key, ctx.Err())
			}
		}
	}
}

func notReady(message string) error {
	return fault.New(fault.CapacityExhausted, message).WithRetryAfter(retryAfterS)
}

// analysisOf returns the analysis id in a key, see Name.
func analysisOf(key string) string {
	analysisID, _, _ := strings.Cut(path.Base(key), ".")
	return analysisID
}
