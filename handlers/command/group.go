package command

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"vqa/eventstore"
	"vqa/eventstore/fold"
)

// attempt decides every task of the group once and appends the events. It returns a verdict for
// each task. The verdicts are valid only when err is nil. A task may have been refused because of
// the events of another task, and after an error these are not recorded.
//
// It decides on cached state first. An append checks the cached versions. Where no append
// checks them (a refusal, a dry run, no events), it decides a second time on loaded state.
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

// decision is the outcome of a group's commands before the append.
type decision struct {
	verdicts []error
	// entries are the aggregates that the accepted commands have read or changed.
	entries map[eventstore.StreamID]entry
	// unverified lists the cached aggregates that refusals and dry runs were decided on.
	unverified []eventstore.StreamID
	batch      eventstore.Batch
}

// verified reports whether the append will check every cached state that the decision used:
// an append asserts the version of every aggregate in entries.
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

// decide decides every task of the group in turn, each on the state that the previous ones
// left.
func (p *Pipeline) decide(ctx context.Context, c *cache, group []*task) (decision, error) {
	loaded := map[eventstore.StreamID]eventstore.History{}
	// A group whose streams are all cached needs no round trip.
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

// remember caches the state in which the group left its aggregates.
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
	// A process that was stopped longer than its lease runs on before its contexts end.
	if err := eventstore.CheckLease(t.ctx); err != nil {
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

// declared returns the streams that the group's commands need and that are not cached.
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

// writes returns the writes of an append. When anything is written, even only a receipt, an
// aggregate that was only read gets a write without events. The store then asserts that it is
// unchanged, because the decision depends on it.
func writes(entries map[eventstore.StreamID]entry, receipts bool) ([]eventstore.Write, error) {
	changed := receipts
	all := make([]eventstore.Write, 0, len(entries))
	asked := func(a, b eventstore.StreamID) int { return entries[a].order - entries[b].order }
	for _, id := range slices.SortedFunc(maps.Keys(entries), asked) {
		e := entries[id]
		if e.version == 0 && len(e.pending) == 0 {
			continue // the stream does not exist, so there is no version to assert
		}
		w := eventstore.Write{Stream: id, Expected: e.version, Chain: e.chain, Events: e.pending, State: e.state}
		changed = changed || len(e.pending) > 0
		if e.snapshots && len(e.pending) > 0 && e.version+int64(len(e.pending))-e.snapshotVersion >= snapshotEvery {
			category, known := fold.Named(id.Category)
			if !known {
				return nil, fmt.Errorf("stream %s has no category", id)
			}
			snapshot, err := category.Snapshot(e.state)
			if err != nil {
				return nil, err
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
