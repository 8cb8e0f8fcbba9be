package command

import (
	"context"
	"errors"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"vqa/domain/fault"
	"vqa/eventstore"
)

const (
	// laneDepth bounds the commands that wait in a lane; more are refused.
	laneDepth = 512
	// groupMax bounds the commands of one append.
	groupMax = 128
	// snapshotEvery is how many events are folded at most after a snapshot, plus those of
	// one group.
	snapshotEvery = 50
	// maxTries bounds how often a group is decided anew after a conflict.
	maxTries = 12
)

// intent is what the pipeline needs to know of a command before it decides.
type intent struct {
	// accountID chooses the lane and is the tenant of every event.
	accountID string
	meta      eventstore.Meta
	// streams will be loaded together with those of the neighbours.
	streams []eventstore.StreamID
	// receipt makes the command idempotent, or is nil. decide sets its ResourceID.
	receipt *eventstore.Receipt
	// dryRun decides and appends nothing.
	dryRun bool
}

// Pipeline runs commands. Start its lanes with Run before the first command.
type Pipeline struct {
	store eventstore.Store
	now   func() time.Time
	log   *slog.Logger
	lanes []*lane
}

// lane commits the commands of some accounts, one group after the other.
type lane struct {
	queue chan *task
	cache *cache
	// last is how many commands the group before had.
	last int
	// patience is how often the lane lets others run while it waits for as many again.
	yieldLimit int
}

// NewPipeline returns a pipeline on a store, reading time from now. It has a lane for
// each core, at least two: fewer gather more into one transaction, more keep accounts
// out of each other's way. On 2 cores, 2 lanes recorded a quarter more appends of 32
// clients than 4 did.
func NewPipeline(store eventstore.Store, now func() time.Time, log *slog.Logger) *Pipeline {
	p := &Pipeline{store: store, now: now, log: log}
	lanes := max(2, runtime.GOMAXPROCS(0))
	for range lanes {
		p.lanes = append(p.lanes, &lane{queue: make(chan *task, laneDepth), cache: newCache(cacheSize / lanes), yieldLimit: maxYields})
	}
	return p
}

// Run works the lanes until ctx ends, then finishes what was accepted.
func (p *Pipeline) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, l := range p.lanes {
		wg.Go(func() { p.work(ctx, l) })
	}
	wg.Wait()
}

// task is one command on its way through a lane.
type task struct {
	ctx    context.Context
	intent intent
	decide func(*session) error
	done   chan error
	// claimed is set once: by the lane that will decide the task, or by the caller that
	// no longer waits for it.
	claimed atomic.Bool
}

// claim reports whether the task is now the claimant's.
func (t *task) claim() bool { return t.claimed.CompareAndSwap(false, true) }

// do runs one command to its verdict. An error of decide is returned as it is and
// leaves nothing behind. When ctx ends before the lane has taken the command, nothing
// has happened; after that do waits for the verdict, at most commitTimeout, so that
// decide never runs when do has returned.
func (p *Pipeline) do(ctx context.Context, in intent, decide func(*session) error) error {
	began := p.now()
	t := &task{ctx: ctx, intent: in, decide: decide, done: make(chan error, 1)}
	verdict := func(err error) error {
		if fault.Has(err, fault.DBUnavailable) {
			// What the caller still has to tell the log must not wait as long again.
			eventstore.PatienceOf(ctx).Waited(p.now().Sub(began))
		}
		return err
	}
	hash := fnv.New64a()
	hash.Write([]byte(in.accountID))
	select {
	case p.lanes[hash.Sum64()%uint64(len(p.lanes))].queue <- t:
	case <-ctx.Done():
		return ctx.Err()
	default:
		return fault.New(fault.CapacityExhausted, "Too many changes of this account are waiting.").WithRetryAfter(1)
	}
	select {
	case err := <-t.done:
		return verdict(err)
	case <-ctx.Done():
		if t.claim() {
			return ctx.Err()
		}
		return verdict(<-t.done)
	}
}

// work is the life of one lane.
func (p *Pipeline) work(ctx context.Context, l *lane) {
	for {
		select {
		case t := <-l.queue:
			p.run(l, l.gather(t))
		case <-ctx.Done():
			select {
			case t := <-l.queue:
				p.run(l, l.gather(t))
			default:
				return
			}
		}
	}
}

// The bounds of a lane's patience; the greater is a tenth of a millisecond when there is
// nobody to run.
const (
	minYields = 10
	maxYields = 1000
)

// gather takes what is waiting. After a group of several it first lets their callers
// run, who often come again at once: two half groups cost nearly two whole ones. Where
// that was in vain it waits less the next time. An idle service adds no delay. Tasks that
// their callers gave up are left out.
func (l *lane) gather(first *task) []*task {
	if l.last > 1 {
		yields := 0
		for ; len(l.queue)+1 < l.last && yields < l.yieldLimit; yields++ {
			runtime.Gosched()
		}
		if yields < l.yieldLimit {
			l.yieldLimit = min(2*l.yieldLimit, maxYields)
		} else {
			l.yieldLimit = max(l.yieldLimit/2, minYields)
		}
	}
	var group []*task
	for t := first; ; {
		if t.claim() {
			group = append(group, t)
		}
		l.last = len(group)
		if len(group) == groupMax {
			return group
		}
		select {
		case t = <-l.queue:
		default:
			return group
		}
	}
}

// commitTimeout bounds one group: its commit must not hang on one caller's deadline,
// nor on none.
const commitTimeout = 30 * time.Second

// run brings every task of a group to its verdict.
func (p *Pipeline) run(l *lane, group []*task) {
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	ctx, patience := eventstore.WithPatience(ctx, eventstore.CallerPatience)
	p.commit(ctx, l, group)
	if patience.Over() {
		l.refuseWaiting()
	}
}

// refuseWaiting ends the commands that waited behind a group for which the log was silent: they
// have waited for it as long as that group has.
func (l *lane) refuseWaiting() {
	for {
		select {
		case t := <-l.queue:
			if t.claim() {
				t.done <- logSilent(nil)
			}
		default:
			return
		}
	}
}

// logSilent is what a caller hears when the log does not answer.
func logSilent(cause error) error {
	return fault.New(fault.DBUnavailable, "").WithRetryAfter(1).WithCause(cause)
}

// commit decides and appends a group, anew after a conflict, until it stands or the
// tries are used up.
func (p *Pipeline) commit(ctx context.Context, l *lane, group []*task) {
	for try := 1; len(group) > 0; try++ {
		verdicts, err := p.attempt(ctx, l, group)
		var conflict *eventstore.ConflictError
		var taken *eventstore.ReceiptError
		var uncertain *eventstore.UncertainError
		switch {
		case err == nil:
			for i, t := range group {
				t.done <- verdicts[i]
			}
			return
		case errors.As(err, &taken) && concerns(taken, group):
			group = refuseTaken(group, taken)
		case errors.As(err, &conflict) && try < maxTries && ctx.Err() == nil:
			backoff(ctx, try)
		case errors.As(err, &uncertain):
			// Deciding it anew could do it twice.
			settle(group, logSilent(err))
			return
		case eventstore.PatienceOf(ctx).Over():
			settle(group, logSilent(err))
			return
		case len(group) > 1 && ctx.Err() == nil:
			// One bad command must not fail its neighbours.
			for _, t := range group {
				p.commit(ctx, l, []*task{t})
			}
			return
		case errors.As(err, &conflict):
			p.log.Warn("command gave up on conflicts", "stream", conflict.Stream.String(), "tries", try)
			settle(group, fault.New(fault.DBUnavailable, "Too many changes at once; try again.").WithRetryAfter(1).WithCause(err))
			return
		default:
			settle(group, err)
			return
		}
	}
}

func settle(group []*task, err error) {
	for _, t := range group {
		t.done <- err
	}
}

// concerns reports whether a task of the group carries the key that is taken.
func concerns(taken *eventstore.ReceiptError, group []*task) bool {
	return slices.ContainsFunc(group, func(t *task) bool { return carries(t, taken) })
}

func carries(t *task, taken *eventstore.ReceiptError) bool {
	r := t.intent.receipt
	return r != nil && !t.intent.dryRun && r.AccountID == taken.AccountID && r.Key == taken.Key
}

// refuseTaken ends the task whose idempotency key another process took first.
func refuseTaken(group []*task, taken *eventstore.ReceiptError) []*task {
	rest := group[:0:0]
	for _, t := range group {
		if carries(t, taken) {
			t.done <- idempotencyRunning()
			continue
		}
		rest = append(rest, t)
	}
	return rest
}

func idempotencyRunning() error {
	return fault.New(fault.IdempotencyUnavailable, "").WithRetryAfter(1)
}

// backoff waits a random moment that grows with the number of tries.
func backoff(ctx context.Context, try int) {
	limit := min(time.Duration(1<<try)*time.Millisecond, 100*time.Millisecond)
	timer := time.NewTimer(rand.N(limit)) //nolint:gosec // no secret
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
