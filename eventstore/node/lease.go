package node

import (
	"context"
	"fmt"
	"sync"
	"time"

	"vqa/eventstore"
)

// The times of a lease. Another node takes up the work of a vanished one after at most leaseLength
// and one period of the sweep, 5 s: 17 s.
const (
	// leaseLength is how long a lease lasts in the database after a renewal. It allows three failed
	// renewals, so that a short outage of the network interrupts no work.
	leaseLength = 12 * time.Second
	// renewEvery is the time between two renewals.
	renewEvery = 3 * time.Second
	// renewTimeout bounds one renewal, or one attempt to connect. A connection that is cut off
	// without a message looks like a slow one.
	renewTimeout = 2 * time.Second
	// joinTimeout bounds the first request for a lease, at the start of the node.
	joinTimeout = 10 * time.Second
	// retryEvery is the pause after a failed renewal.
	retryEvery = time.Second
	// leaseMargin is how much earlier the node considers its lease over. It covers the time until
	// running work has stopped, and clocks that run at different speeds.
	leaseMargin = 2 * time.Second
	// forgetAfter is how long the row of a node is kept after the end of its lease.
	forgetAfter = 24 * time.Hour
)

var processStart = time.Now()

// lease implements eventstore.Lease.
type lease struct {
	incarnation string
	epoch       int64
	ctx         context.Context
	cancel      context.CancelCauseFunc

	mu    sync.Mutex
	until time.Duration // on the clock of elapsed
	over  bool
	timer *time.Timer
}

var _ eventstore.Lease = (*lease)(nil)

// newLease returns a lease that was requested at sent, on the clock of elapsed.
func newLease(node string, epoch int64, sent time.Duration) *lease {
	l := &lease{incarnation: fmt.Sprintf("%s@%d", node, epoch), epoch: epoch}
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = sent + leaseLength - leaseMargin
	l.timer = time.AfterFunc(l.until-elapsed(), l.expire)
	return l
}

// Incarnation implements eventstore.Lease.
func (l *lease) Incarnation() string { return l.incarnation }

// Context implements eventstore.Lease.
func (l *lease) Context() context.Context { return l.ctx }

// Check implements eventstore.Lease.
func (l *lease) Check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over && elapsed() >= l.until {
		l.endLocked()
	}
	if l.over {
		return eventstore.ErrLeaseOver
	}
	return nil
}

// renewed extends the lease after a renewal that was requested at sent. The time counts from then,
// because the database extends the lease at an unknown moment after it. It returns false when the
// lease was over before the answer came: work may have stopped, so it stays over.
func (l *lease) renewed(sent time.Duration) bool {
	if l.Check() != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = sent + leaseLength - leaseMargin
	l.timer.Reset(l.until - elapsed())
	return !l.over
}

// expire ends the lease unless it was renewed meanwhile.
func (l *lease) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if left := l.until - elapsed(); left > 0 && !l.over {
		l.timer.Reset(left)
		return
	}
	l.endLocked()
}

func (l *lease) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endLocked()
}

func (l *lease) endLocked() {
	l.over = true
	l.timer.Stop()
	l.cancel(eventstore.ErrLeaseOver)
}
