package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"vqa/domain/fault"
	"vqa/eventstore"
)

const (
	// laneCount lanes commit side by side; an account always goes to the same one. Fewer
	// gather more into one transaction, more keep accounts out of each other's way: 4
	// recorded 1.6 times as many appends of 32 clients as 16 did on 2 cores, 2 recorded 1.9
	// times as many.
	laneCount = 4
	// laneDepth bounds the commands that wait in a lane; more are refused.
	laneDepth = 512
	// groupMax bounds the commands of one append.
	groupMax = 128
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
	lanes [laneCount]chan *task
}

// NewPipeline returns a pipeline on a store, reading time from now.
func NewPipeline(store eventstore.Store, now func() time.Time, log *slog.Logger) *Pipeline {
	p := &Pipeline{store: store, now: now, log: log}
	for i := range p.lanes {
		p.lanes[i] = make(chan *task, laneDepth)
	}
	return p
}

// Run works the lanes until ctx ends, then finishes what was accepted.
func (p *Pipeline) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, lane := range p.lanes {
		wg.Go(func() { p.work(ctx, lane) })
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
	t := &task{ctx: ctx, intent: in, decide: decide, done: make(chan error, 1)}
	lane := fnv.New32a()
	lane.Write([]byte(in.accountID))
	select {
	case p.lanes[lane.Sum32()%laneCount] <- t:
	case <-ctx.Done():
		return ctx.Err()
	default:
		return fault.New(fault.CapacityExhausted, "Too many changes of this account are waiting.").WithRetryAfter(1)
	}
	select {
	case err := <-t.done:
		return err
	case <-ctx.Done():
		if t.claim() {
			return ctx.Err()
		}
		return <-t.done
	}
}

// work is the life of one lane.
func (p *Pipeline) work(ctx context.Context, lane chan *task) {
	for {
		select {
		case t := <-lane:
			p.run(gather(t, lane))
		case <-ctx.Done():
			select {
			case t := <-lane:
				p.run(gather(t, lane))
			default:
				return
			}
		}
	}
}

// gather takes what is waiting, without waiting for more: under load groups grow by
// themselves, and an idle service adds no delay. Tasks that their callers gave up are
// left out.
func gather(first *task, lane chan *task) []*task {
	var group []*task
	for t := first; ; {
		if t.claim() {
			group = append(group, t)
		}
		if len(group) == groupMax {
			return group
		}
		select {
		case t = <-lane:
		default:
			return group
		}
	}
}

// commitTimeout bounds one group: its commit must not hang on one caller's deadline,
// nor on none.
const commitTimeout = 30 * time.Second

// run brings every task of a group to its verdict.
func (p *Pipeline) run(group []*task) {
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	p.commit(ctx, group)
}

// commit decides and appends a group, anew after a conflict, until it stands or the
// tries are used up.
func (p *Pipeline) commit(ctx context.Context, group []*task) {
	for try := 1; len(group) > 0; try++ {
		verdicts, err := p.attempt(ctx, group)
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
			settle(group, fault.New(fault.DBUnavailable, "").WithRetryAfter(1).WithCause(err))
			return
		case len(group) > 1 && ctx.Err() == nil:
			// One bad command must not fail its neighbours.
			for _, t := range group {
				p.commit(ctx, []*task{t})
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

// attempt decides every task of the group once and appends the outcome. The verdicts,
// one for each task, hold only when err is nil: a task may have been refused because of
// what a neighbour was about to do, and then nothing of that came to be.
func (p *Pipeline) attempt(ctx context.Context, group []*task) (verdicts []error, err error) {
	loaded := map[eventstore.StreamID]eventstore.History{}
	// A group that only creates needs nothing and saves the round trip.
	if streams := declared(group); len(streams) > 0 {
		if loaded, err = p.store.Load(ctx, streams...); err != nil {
			return nil, err
		}
	}
	entries := map[eventstore.StreamID]entry{}
	receipts := map[receiptKey]bool{}
	var batch eventstore.Batch
	verdicts = make([]error, len(group))
	for i, t := range group {
		s := &session{ctx: ctx, store: p.store, loaded: loaded, entries: maps.Clone(entries), now: p.now(), meta: t.intent.meta}
		verdicts[i] = p.decideOne(t, s, receipts)
		if verdicts[i] != nil || t.intent.dryRun {
			continue
		}
		entries = s.entries
		if r := t.intent.receipt; r != nil {
			r.CreatedAt = s.now
			batch.Receipts = append(batch.Receipts, *r)
		}
	}
	if batch.Writes, err = writes(entries, len(batch.Receipts) > 0); err != nil {
		return nil, err
	}
	if len(batch.Writes) == 0 && len(batch.Receipts) == 0 {
		return verdicts, nil
	}
	_, err = p.store.Append(ctx, batch)
	return verdicts, err
}

// receiptKey identifies a request within a group.
type receiptKey struct{ accountID, key string }

func (p *Pipeline) decideOne(t *task, s *session, receipts map[receiptKey]bool) (err error) {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	if r := t.intent.receipt; r != nil && !t.intent.dryRun {
		k := receiptKey{r.AccountID, r.Key}
		if receipts[k] {
			return idempotencyRunning()
		}
		defer func() { receipts[k] = receipts[k] || err == nil }()
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("deciding a command panicked: %v", v)
		}
	}()
	return t.decide(s)
}

// declared are the streams that the group's commands said they would need.
func declared(group []*task) []eventstore.StreamID {
	seen := map[eventstore.StreamID]bool{}
	var all []eventstore.StreamID
	for _, t := range group {
		for _, id := range t.intent.streams {
			if !seen[id] {
				seen[id] = true
				all = append(all, id)
			}
		}
	}
	return all
}

// writes are the changes that the sessions left in the entries. An aggregate that
// was only read is asserted by the store to be unchanged when something else is
// written, be it a receipt, because the decision stands on it.
func writes(entries map[eventstore.StreamID]entry, receipts bool) ([]eventstore.Write, error) {
	changed := receipts
	all := make([]eventstore.Write, 0, len(entries))
	asked := func(a, b eventstore.StreamID) int { return entries[a].order - entries[b].order }
	for _, id := range slices.SortedFunc(maps.Keys(entries), asked) {
		e := entries[id]
		if e.expected == 0 && len(e.pending) == 0 {
			continue // nothing is there to assert
		}
		w := eventstore.Write{Stream: id, Expected: e.expected, Events: e.pending}
		changed = changed || len(e.pending) > 0
		if e.snapshots && len(e.pending) > 0 {
			snapshot, err := json.Marshal(e.state)
			if err != nil {
				return nil, fmt.Errorf("writing the snapshot of %s: %w", id, err)
			}
			w.Snapshot = snapshot
		}
		all = append(all, w)
	}
	if !changed {
		return nil, nil
	}
	return all, nil
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
