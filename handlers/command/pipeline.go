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
	// laneDepth bounds the commands that wait in a lane. The lane refuses more.
	laneDepth = 512
	// groupMax bounds the commands of one append.
	groupMax = 128
	// snapshotEvery is the number of events after which a stream gets a new snapshot. A load
	// folds at most so many events, plus those of one group.
	snapshotEvery = 50
	// maxTries bounds how often a group is decided after conflicts.
	maxTries = 12
)

// intent describes a command to the pipeline before it is decided.
type intent struct {
	// accountID chooses the lane.
	accountID string
	meta      eventstore.Meta
	// streams lists the streams to load in one query with those of the rest of the group.
	streams []eventstore.StreamID
	// receipt makes the command idempotent, or is nil. decide sets its ResourceID.
	receipt *eventstore.Receipt
	// dryRun means that the command is decided and appends nothing.
	dryRun bool
}

// Pipeline runs commands. Start Run before the first command.
type Pipeline struct {
	store eventstore.Store
	now   func() time.Time
	log   *slog.Logger
	lanes []*lane
}

// lane commits the commands of some accounts, one group after another.
type lane struct {
	queue chan *task
	cache *cache
	// last is the number of commands in the previous group.
	last int
	// yieldLimit is how often gather yields while it waits for as many commands again.
	yieldLimit int
}

// NewPipeline returns a pipeline on a store with the clock now. It has a lane for each core,
// at least two. Fewer lanes put more commands into one transaction. More lanes separate the
// accounts better. With 32 clients on 2 cores, 2 lanes recorded 25% more appends than 4.
func NewPipeline(store eventstore.Store, now func() time.Time, log *slog.Logger) *Pipeline {
	p := &Pipeline{store: store, now: now, log: log}
	lanes := max(2, runtime.GOMAXPROCS(0))
	for range lanes {
		p.lanes = append(p.lanes, &lane{queue: make(chan *task, laneDepth), cache: newCache(cacheSize / lanes), yieldLimit: maxYields})
	}
	return p
}

// Run works the lanes until ctx ends. Then it finishes the commands that are already queued.
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
	// stops waiting for it.
	claimed atomic.Bool
}

// claim takes the task. It returns false when the other side took it first.
func (t *task) claim() bool { return t.claimed.CompareAndSwap(false, true) }

// do runs one command and returns its result. An error of decide is returned unchanged, and
// nothing is recorded. When ctx ends before the lane takes the command, do returns at once
// and nothing happens. After that, do waits for the result, at most commitTimeout, so that
// decide never runs after do has returned.
func (p *Pipeline) do(ctx context.Context, in intent, decide func(*session) error) error {
	began := p.now()
	t := &task{ctx: ctx, intent: in, decide: decide, done: make(chan error, 1)}
	verdict := func(err error) error {
		if fault.Has(err, fault.DBUnavailable) {
			// The caller's next statements must not wait for the full limit again.
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
		return fault.New(fault.CapacityExhausted, "Too many requests of this account are waiting. Try again in 1 second.").WithRetryAfter(1)
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

// The bounds of a lane's yieldLimit. 1000 yields take 0.1 ms when no other goroutine runs.
const (
	minYields = 10
	maxYields = 1000
)

// gather takes the waiting commands. After a group of several it first yields to their
// callers, which often send the next command at once. Yielding pays, because two half groups
// cost nearly as much as two full ones. When it did not help, gather yields less the next
// time. There is no delay when the service is idle. Tasks that their callers gave up are left
// out.
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

// commitTimeout bounds the commit of one group. The deadline of a single caller must not cut
// off the others, and a commit without a deadline could hang.
const commitTimeout = 30 * time.Second

// run decides and commits a group and sends every task its result.
func (p *Pipeline) run(l *lane, group []*task) {
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	ctx, patience := eventstore.WithPatience(ctx, eventstore.CallerPatience)
	p.commit(ctx, l, group)
	if patience.Over() {
		l.refuseWaiting()
	}
}

// refuseWaiting refuses the commands that waited behind a group for which the log did not
// respond. They have already waited as long as that group.
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

// logSilent returns the error for a log that does not respond.
func logSilent(cause error) error {
	return fault.New(fault.DBUnavailable, "").WithRetryAfter(1).WithCause(cause)
}

// writtenByNewer is the message for a command on a stream with events that this program does not know.
// During a rolling upgrade another node answers the next request.
const writtenByNewer = "A newer release of the service has changed this resource, and this node cannot read it. Try again in 1 second."

// commit decides and appends a group. It repeats both after a conflict, at most maxTries times.
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
			// The append may have been recorded, so a second one could do the work twice.
			settle(group, logSilent(err))
			return
		case eventstore.PatienceOf(ctx).Over():
			settle(group, logSilent(err))
			return
		case len(group) > 1 && ctx.Err() == nil:
			// One failing command must not fail the others of its group.
			for _, t := range group {
				p.commit(ctx, l, []*task{t})
			}
			return
		case errors.Is(err, eventstore.ErrUnknownEvent):
			p.log.Warn("a command was refused, because a newer release of the program wrote to its stream; upgrade this node", "error", err)
			settle(group, fault.New(fault.DBUnavailable, writtenByNewer).WithRetryAfter(1).WithCause(err))
			return
		case errors.As(err, &conflict):
			p.log.Warn("a command failed after too many version conflicts", "stream", conflict.Stream.String(), "tries", try)
			settle(group, fault.New(fault.DBUnavailable, "Too many requests are changing this account at once. Try again in 1 second.").WithRetryAfter(1).WithCause(err))
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

// concerns reports whether a task of the group has the idempotency key that is taken.
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

// backoff waits for a random time, at most 2^try ms and at most 100 ms.
func backoff(ctx context.Context, try int) {
	limit := min(time.Duration(1<<try)*time.Millisecond, 100*time.Millisecond)
	timer := time.NewTimer(rand.N(limit)) //nolint:gosec // no secret
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
