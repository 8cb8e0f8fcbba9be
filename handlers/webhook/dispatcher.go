package webhook

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"vqa/domain/webhook"
	"vqa/eventstore"
	"vqa/eventstore/fold"
	"vqa/handlers/command"
	"vqa/projections/deliveries"
)

// Queue has the deliveries that wait for an attempt.
type Queue interface {
	Claim(ctx context.Context, incarnation string, free int, now time.Time) (claimed []deliveries.Claimed, next time.Time, err error)
	Record(ctx context.Context, incarnation string, results []deliveries.Result) (accepted int, err error)
	Refresh(ctx context.Context, turns []deliveries.Turn) (skipped []deliveries.Turn, err error)
	Recover(ctx context.Context, now time.Time) (claims int, err error)
	Release(ctx context.Context, incarnation string) error
	Failing(ctx context.Context, now time.Time) ([]deliveries.FailingTarget, error)
	Warn(ctx context.Context, endpointID string) (bool, error)
	Forget(ctx context.Context, endpointID string) (bool, error)
}

// Outcomes records the ends of deliveries in the log.
type Outcomes interface {
	EndDelivery(ctx context.Context, e command.Ending) error
	FailWebhookEndpoint(ctx context.Context, e webhook.Endpoint, failedAt time.Time) (disabled bool, err error)
	WarnWebhookEndpoint(ctx context.Context, e webhook.Endpoint, failingSince time.Time) error
}

// Leases gives out the lease of this node.
type Leases interface {
	// Lease returns the current lease. While there is none, it waits, until ctx ends.
	Lease(ctx context.Context) (eventstore.Lease, error)
}

// Options are the parts of a Dispatcher.
type Options struct {
	Queue    Queue
	Streams  Streams
	Outcomes Outcomes
	Secrets  Secrets
	Poster   Poster
	Schedule webhook.Schedule
	// Places bounds the attempts of this node that run at the same time. Default: 256.
	Places int
	Now    func() time.Time
	// Random returns a number from [0, 1).
	Random func() float64
	// Attempted is called after each attempt with its number, its outcome and the time from the event to its
	// start. It must not block. It may be nil.
	Attempted func(attempt int, outcome AttemptOutcome, after time.Duration)
	Log       *slog.Logger
}

// Dispatcher makes the attempts of this node.
type Dispatcher struct {
	Options
	wake chan struct{}
}

// defaultPlaces bounds the memory of the running attempts to 64 MiB of bodies.
const defaultPlaces = 256

// NewDispatcher returns a dispatcher. Run starts it.
func NewDispatcher(o Options) *Dispatcher {
	if o.Places == 0 {
		o.Places = defaultPlaces
	}
	return &Dispatcher{Options: o, wake: make(chan struct{}, 1)}
}

// Wake makes the dispatcher look for due deliveries now. Simultaneous calls become one.
func (d *Dispatcher) Wake() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Run makes attempts while this node has a lease, until ctx ends. Then it waits for the running
// attempts, which take at most 10 s.
func (d *Dispatcher) Run(ctx context.Context, leases Leases) {
	for ctx.Err() == nil {
		lease, err := leases.Lease(ctx)
		if err != nil {
			return
		}
		d.incarnation(ctx, lease)
	}
}

// The times of the loop.
const (
	// pollEvery bounds the time until deliveries are found that another node planned.
	pollEvery = time.Second
	// sweepEvery is the time between two searches for the claims of dead nodes and for failing endpoints.
	sweepEvery = 5 * time.Second
	// retryPause is the pause after a statement that failed.
	retryPause = 200 * time.Millisecond
	// releaseTimeout bounds the return of claims at the end of an incarnation.
	releaseTimeout = 3 * time.Second
)

// incarnation makes attempts until the lease is over or ctx ends.
func (d *Dispatcher) incarnation(ctx context.Context, lease eventstore.Lease) {
	// Attempts outlive ctx, and end with the lease.
	working, cancel := eventstore.WithLease(context.WithoutCancel(ctx), lease)
	defer cancel()
	w := &worker{Dispatcher: d, ctx: working, lease: lease, results: make(chan finished, d.Places), freed: make(chan struct{}, 1)}
	written := make(chan struct{})
	go func() {
		defer close(written)
		w.write()
	}()
	w.loop(ctx)
	w.attempts.Wait()
	close(w.results)
	<-written
	releasing, end := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer end()
	if err := d.Queue.Release(releasing, lease.Incarnation()); err != nil {
		d.Log.WarnContext(ctx, "could not return claims of deliveries; another node will take them up", "error", err)
	}
}

// worker makes the attempts of one incarnation.
type worker struct {
	*Dispatcher
	// ctx belongs to the lease.
	ctx      context.Context
	lease    eventstore.Lease
	attempts sync.WaitGroup
	results  chan finished
	// busy counts the claimed deliveries whose results are not recorded yet. freed receives when it
	// fell.
	busy  atomic.Int64
	freed chan struct{}
}

// loop claims deliveries and starts their attempts until stop or the lease ends.
func (w *worker) loop(stop context.Context) {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	w.sweep()
	for stop.Err() == nil && w.ctx.Err() == nil {
		timer := time.NewTimer(w.turn())
		select {
		case <-stop.Done():
		case <-w.ctx.Done():
		case <-w.wake:
		case <-w.freed:
		case <-ticker.C:
			w.sweep()
		case <-timer.C:
		}
		timer.Stop()
	}
}

// turn claims once. It returns the pause before the next turn, which ends early when there is news.
func (w *worker) turn() time.Duration {
	free := w.Places - int(w.busy.Load())
	if free <= 0 {
		return pollEvery
	}
	now := w.Now()
	claimed, next, err := w.Queue.Claim(w.ctx, w.lease.Incarnation(), free, now)
	if err == nil && len(claimed) > 0 {
		err = w.start(claimed)
	}
	switch {
	case err != nil:
		if w.ctx.Err() == nil {
			w.Log.WarnContext(w.ctx, "could not claim deliveries; trying again", "error", err)
		}
		return retryPause
	case next.IsZero():
		return pollEvery
	}
	return min(max(next.Sub(now), time.Millisecond), pollEvery)
}

// start starts the attempts of claims. When the endpoints cannot be read, it tries again until the
// lease is over: the claims are held until then.
func (w *worker) start(claimed []deliveries.Claimed) error {
	w.busy.Add(int64(len(claimed)))
	endpoints, err := w.endpoints(claimed)
	for err != nil {
		w.Log.WarnContext(w.ctx, "could not read webhook endpoints; trying again", "error", err)
		select {
		case <-w.ctx.Done():
			return w.ctx.Err()
		case <-time.After(retryPause):
		}
		endpoints, err = w.endpoints(claimed)
	}
	for _, c := range claimed {
		w.attempts.Go(func() {
			// A process that was stopped may run on after its lease.
			if w.lease.Check() != nil {
				return
			}
			f, err := w.attempt(w.ctx, c, endpoints[c.AccountID])
			if !errors.Is(err, errInterrupted) {
				w.results <- f
			}
		})
	}
	return nil
}

// endpoints returns the endpoints of the accounts of claims.
func (w *worker) endpoints(claimed []deliveries.Claimed) (map[string]webhook.State, error) {
	byAccount := map[string]webhook.State{}
	var streams []eventstore.StreamID
	for _, c := range claimed {
		if _, known := byAccount[c.AccountID]; !known {
			byAccount[c.AccountID] = webhook.State{}
			streams = append(streams, fold.Webhook.Stream(c.AccountID))
		}
	}
	histories, err := w.Streams.Load(w.ctx, streams...)
	if err != nil {
		return nil, err
	}
	for _, stream := range streams {
		if byAccount[stream.ID], err = restore(w.ctx, w.Streams, stream, histories[stream]); err != nil {
			return nil, err
		}
	}
	return byAccount, nil
}

// sweep takes up the claims of dead nodes and judges endpoints that fail.
func (w *worker) sweep() {
	w.recover()
	w.judge()
}

// recover returns the claims of dead nodes to the queue.
func (w *worker) recover() {
	switch n, err := w.Queue.Recover(w.ctx, w.Now()); {
	case err != nil && w.ctx.Err() == nil:
		w.Log.WarnContext(w.ctx, "could not take up the deliveries of dead nodes; trying again", "error", err)
	case n > 0:
		w.Log.WarnContext(w.ctx, "took up the deliveries of dead nodes", "count", n)
	}
}
