package command

import (
	"context"
	"errors"
	"hash/fnv"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"vqa/domain/fault"
	"vqa/eventstore"
)

const (
	// snapshotEvery is the number of events after which a stream gets a new snapshot. A load
	// folds at most so many events, plus those of one group.
	snapshotEvery = 50
	// freeTries is how often a group is decided without locks. The first try may fail because
	// a cached state is out of date. When the second one fails on loaded state, another process
	// keeps changing the account.
	freeTries = 2
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
	// test means that the command is of test mode, which is never refused because a lane is full.
	test bool
}

// Pipeline runs commands. Start Run before the first command.
type Pipeline struct {
	store eventstore.Store
	now   func() time.Time
	log   *slog.Logger
	lanes []*lane
	// Turns lets several processes take turns on an account. Set it before Run. When it is nil,
	// processes that change the same account repeat their decisions after random pauses.
	Turns eventstore.Turns

	mu sync.RWMutex
	// own has the lanes of accounts that another process changes, too.
	own map[string]*lane
}

// NewPipeline returns a pipeline on a store with the clock now. It has a lane for each core,
// at least two. Fewer lanes put more commands into one transaction. More lanes separate the
// accounts better. With 32 clients on 2 cores, 2 lanes recorded 25% more appends than 4.
func NewPipeline(store eventstore.Store, now func() time.Time, log *slog.Logger) *Pipeline {
	p := &Pipeline{store: store, now: now, log: log, own: map[string]*lane{}}
	lanes := max(2, runtime.GOMAXPROCS(0))
	for range lanes {
		p.lanes = append(p.lanes, newLane(cacheSize/lanes))
	}
	return p
}

// Run works the lanes until ctx ends. Then it finishes the commands that are already queued.
func (p *Pipeline) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, l := range p.lanes {
		wg.Go(func() { p.work(ctx, l, &wg) })
	}
	wg.Wait()
}

// task is one command on its way through a lane.
type task struct {
	ctx    context.Context
	intent intent
	decide func(*session) error
	done   chan error
	// claimed is set once: by the lane that will decide or refuse the task, or by the caller
	// that stops waiting for it.
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
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := p.push(t); err != nil {
		return err
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

// push adds a task to the lane of its account.
func (p *Pipeline) push(t *task) error {
	p.mu.RLock() // so that the account's own lane does not end in between
	defer p.mu.RUnlock()
	if own := p.own[t.intent.accountID]; own != nil {
		return own.push(t)
	}
	return p.laneOf(t.intent.accountID).push(t)
}

// laneOf returns the lane that an account shares with others.
func (p *Pipeline) laneOf(accountID string) *lane {
	hash := fnv.New64a()
	hash.Write([]byte(accountID))
	return p.lanes[hash.Sum64()%uint64(len(p.lanes))]
}

// work is the life of a shared lane. wg counts the goroutines of the pipeline.
func (p *Pipeline) work(ctx context.Context, l *lane, wg *sync.WaitGroup) {
	for {
		select {
		case <-l.arrived:
		case <-ctx.Done():
		}
		for l.waiting.Load() > 0 {
			p.run(l, l.gather())
			p.separate(ctx, l, wg)
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// commitTimeout bounds the commit of one group. The deadline of a single caller must not cut
// off the others, and a commit without a deadline could hang.
const commitTimeout = 30 * time.Second

// run decides and commits a group and sends every task its result.
func (p *Pipeline) run(l *lane, group []*task) {
	if len(group) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	ctx, patience := eventstore.WithPatience(ctx, eventstore.CallerPatience)
	began := time.Now()
	p.commit(ctx, l, group)
	l.finished(time.Since(began))
	if patience.Over() {
		l.refuseWaiting()
	}
}

// logSilent returns the error for a log that does not respond.
func logSilent(cause error) error {
	return fault.New(fault.DBUnavailable, "").WithRetryAfter(1).WithCause(cause)
}

// writtenByNewer is the message for a command on a stream with events that this program does not know.
// During a rolling upgrade another node answers the next request.
const writtenByNewer = "A newer release of the service has changed this resource, and this node cannot read it. Try again in 1 second."

// notOurs is the message for a command on a stream with a row that the service did not write.
const notOurs = "The stored history of this resource failed an integrity check, so nothing was changed. Report the request id."

// commit decides and appends a group. It repeats both after a conflict, until ctx ends.
func (p *Pipeline) commit(ctx context.Context, l *lane, group []*task) {
	var conflict *eventstore.ConflictError // the last one
	var lost []eventstore.StreamID         // the streams of all conflicts
	for try := 1; len(group) > 0; try++ {
		verdicts, err := p.try(ctx, l, group, lost)
		var taken *eventstore.ReceiptError
		var uncertain *eventstore.UncertainError
		var forged *eventstore.ForgedError
		conflicted := errors.As(err, &conflict)
		switch {
		case err == nil:
			for i, t := range group {
				t.done <- verdicts[i]
			}
			return
		case errors.As(err, &taken) && concerns(taken, group):
			group = refuseTaken(group, taken)
		case conflicted && ctx.Err() == nil:
			lost = append(lost, conflict.Stream)
			l.contend(group, lost)
			group = endGone(group)
			p.pause(ctx, try)
		case errors.As(err, &uncertain):
			// The append may have been recorded, so a second one could do the work twice.
			settle(group, logSilent(err))
			return
		case eventstore.PatienceOf(ctx).Over():
			settle(group, logSilent(err))
			return
		case conflict != nil && ctx.Err() != nil:
			p.log.Warn("a command failed, because other processes changed its account until its deadline", "stream", conflict.Stream.String(), "tries", try)
			settle(group, fault.New(fault.DBUnavailable, "Too many requests are changing this account at once. Try again in 1 second.").WithRetryAfter(1).WithCause(conflict))
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
		case errors.As(err, &forged):
			p.log.Error("a command was refused, because the service did not write a row of its stream", "stream", forged.Stream.String(), "error", err)
			settle(group, fault.New(fault.InternalError, notOurs).WithCause(err))
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

// endGone ends the tasks whose callers no longer wait. Nothing of them is recorded.
func endGone(group []*task) []*task {
	rest := group[:0:0]
	for _, t := range group {
		if err := t.ctx.Err(); err != nil {
			t.done <- err
			continue
		}
		rest = append(rest, t)
	}
	return rest
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
