package command

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

// attempt decides every task of the group once and appends the outcome. The verdicts,
// one for each task, hold only when err is nil: a task may have been refused because of
// what a neighbour was about to do, and then nothing of that came to be.
//
// It decides on what the lane remembers. Where that would be the last word (a refusal,
// a dry run, nothing to append) it decides once more on what is loaded.
func (p *Pipeline) attempt(ctx context.Context, l *lane, group []*task) (verdicts []error, err error) {
	d, err := p.decide(ctx, l.cache, group)
	if err == nil && !d.verified() {
		d, err = p.decide(ctx, nil, group)
	}
	if err != nil {
		return nil, err
	}
	if d.batch.Writes, err = writes(d.entries, len(d.batch.Receipts) > 0); err != nil {
		return nil, err
	}
	var recorded []eventstore.Recorded
	if len(d.batch.Writes) > 0 || len(d.batch.Receipts) > 0 {
		if recorded, err = p.store.Append(ctx, d.batch); err != nil {
			for id := range d.entries {
				l.cache.forget(id)
			}
			return nil, err
		}
	}
	l.remember(d.entries, d.batch.Writes, recorded)
	return d.verdicts, nil
}

// decision is what a group's commands came to, before it is appended.
type decision struct {
	verdicts []error
	// entries are the aggregates that those which stand have read or changed.
	entries map[eventstore.StreamID]entry
	// unverified are those that other verdicts stand on although they were only remembered.
	unverified []eventstore.StreamID
	batch      eventstore.Batch
}

// verified reports whether the log will vouch for all that was only remembered: an append
// asserts every aggregate of its entries.
func (d decision) verified() bool {
	appends := len(d.batch.Receipts) > 0
	remembered := false
	for _, e := range d.entries {
		appends = appends || len(e.pending) > 0
		remembered = remembered || e.remembered
	}
	if !appends {
		return !remembered && len(d.unverified) == 0
	}
	return !slices.ContainsFunc(d.unverified, func(id eventstore.StreamID) bool {
		_, asserted := d.entries[id]
		return !asserted
	})
}

// decide decides every task of the group in turn, each on what those before it left.
func (p *Pipeline) decide(ctx context.Context, c *cache, group []*task) (decision, error) {
	loaded := map[eventstore.StreamID]eventstore.History{}
	// A group that needs nothing, or nothing that is not remembered, saves the trip.
	if streams := declared(group, c); len(streams) > 0 {
		var err error
		if loaded, err = p.store.Load(ctx, streams...); err != nil {
			return decision{}, err
		}
	}
	d := decision{entries: map[eventstore.StreamID]entry{}, verdicts: make([]error, len(group))}
	receipts := map[receiptKey]bool{}
	asked := 0
	for i, t := range group {
		s := &session{
			ctx: ctx, store: p.store, cache: c, loaded: loaded, group: d.entries, own: map[eventstore.StreamID]entry{}, asked: &asked,
			now: p.now(), meta: t.intent.meta,
		}
		d.verdicts[i] = p.decideOne(t, s, receipts)
		if d.verdicts[i] != nil || t.intent.dryRun {
			for id, e := range s.own {
				if e.remembered {
					d.unverified = append(d.unverified, id)
				}
			}
			continue
		}
		maps.Copy(d.entries, s.own)
		if r := t.intent.receipt; r != nil {
			r.CreatedAt = s.now
			d.batch.Receipts = append(d.batch.Receipts, *r)
		}
	}
	return d, nil
}

// remember keeps what the group left its aggregates in.
func (l *lane) remember(entries map[eventstore.StreamID]entry, written []eventstore.Write, recorded []eventstore.Recorded) {
	for id, e := range entries {
		if e.version > 0 && len(e.pending) == 0 {
			l.cache.put(id, e.aggregateState)
		}
	}
	last := -1
	for _, w := range written {
		last += len(w.Events)
		if len(w.Events) == 0 {
			continue
		}
		s := entries[w.Stream].aggregateState
		s.version, s.chain = recorded[last].Version, recorded[last].Chain
		if w.Snapshot != nil {
			s.snapshotVersion = s.version
		}
		l.cache.put(w.Stream, s)
	}
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

// declared are the streams that the group's commands said they would need and that are
// not remembered.
func declared(group []*task, c *cache) []eventstore.StreamID {
	seen := map[eventstore.StreamID]bool{}
	var all []eventstore.StreamID
	for _, t := range group {
		for _, id := range t.intent.streams {
			if seen[id] {
				continue
			}
			seen[id] = true
			if _, remembered := c.get(id); !remembered {
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
		if e.version == 0 && len(e.pending) == 0 {
			continue // nothing is there to assert
		}
		w := eventstore.Write{Stream: id, Expected: e.version, Chain: e.chain, Events: e.pending, State: e.state}
		changed = changed || len(e.pending) > 0
		if e.snapshots && len(e.pending) > 0 && e.version+int64(len(e.pending))-e.snapshotVersion >= snapshotEvery {
			snapshot, err := codec.MarshalState(e.state)
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
