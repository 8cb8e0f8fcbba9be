package command

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/credit"
	"vqa/domain/video"
	"vqa/eventstore"
)

// aggregate joins a category of streams with the fold of its events.
type aggregate[S any, C any, E eventstore.Event] struct {
	category string
	evolve   func(S, E) S
	decide   func(S, C, time.Time) ([]E, error)
	// snapshots are kept for streams that grow without end.
	snapshots bool
}

var (
	accounts = aggregate[account.State, account.Command, account.Event]{
		category: "account", evolve: account.Evolve, decide: account.Decide,
	}
	sandboxes = aggregate[account.SandboxQuota, account.OpenSandbox, account.SandboxIssued]{
		category: "sandbox", evolve: account.EvolveQuota, decide: account.DecideSandbox,
	}
	credits = aggregate[credit.State, credit.Command, credit.Event]{
		category: "credit", evolve: credit.Evolve, decide: credit.Decide, snapshots: true,
	}
	videos = aggregate[video.State, video.Command, video.Event]{
		category: "video", evolve: video.Evolve, decide: video.Decide,
	}
	analyses = aggregate[analysis.State, analysis.Command, analysis.Event]{
		category: "analysis", evolve: analysis.Evolve, decide: analysis.Decide,
	}
)

// stream names the history of the aggregate with an id.
func (a aggregate[S, C, E]) stream(id string) eventstore.StreamID {
	return eventstore.StreamID{Category: a.category, ID: id}
}

// get returns the state of an aggregate as this session sees it.
func (a aggregate[S, C, E]) get(s *session, id string) (S, error) {
	e, err := s.entry(a.stream(id), a.fold)
	if err != nil {
		var zero S
		return zero, err
	}
	return e.state.(S), nil
}

// record decides a command on the state as this session sees it and keeps what
// follows for the append. It returns the state afterwards.
func (a aggregate[S, C, E]) record(s *session, id string, command C) (S, error) {
	state, err := a.get(s, id)
	if err != nil {
		return state, err
	}
	events, err := a.decide(state, command, s.now)
	if err != nil || len(events) == 0 {
		return state, err
	}
	e := s.entries[a.stream(id)]
	pending := e.pending[:len(e.pending):len(e.pending)]
	for _, event := range events {
		state = a.evolve(state, event)
		pending = append(pending, eventstore.NewEvent{Event: event, Meta: s.meta})
	}
	e.state, e.pending, e.snapshots = state, pending, a.snapshots
	s.entries[a.stream(id)] = e
	return state, nil
}

// fold makes a state of a loaded history.
func (a aggregate[S, C, E]) fold(h eventstore.History) (any, error) {
	var state S
	if h.Snapshot != nil {
		if err := json.Unmarshal(h.Snapshot, &state); err != nil {
			return nil, fmt.Errorf("reading the snapshot of a %s: %w", a.category, err)
		}
	}
	for _, r := range h.Events {
		e, ok := r.Event.(E)
		if !ok {
			return nil, fmt.Errorf("stream %s holds a foreign event %s", r.Stream, r.Event.EventType())
		}
		state = a.evolve(state, e)
	}
	return state, nil
}

// entry is one aggregate within a session.
type entry struct {
	// order is when the group first asked for it; streams are written in that order.
	order int
	state any
	// expected is the version that was loaded.
	expected  int64
	pending   []eventstore.NewEvent
	snapshots bool
}

// session is what one decide function works on. Its entries are copied from the
// group's and given back only when the decision stands.
type session struct {
	ctx     context.Context
	store   eventstore.Store
	loaded  map[eventstore.StreamID]eventstore.History
	entries map[eventstore.StreamID]entry
	now     time.Time
	meta    eventstore.Meta
}

// entry returns the aggregate of a stream, loading it when nobody has yet.
func (s *session) entry(id eventstore.StreamID, fold func(eventstore.History) (any, error)) (entry, error) {
	if e, ok := s.entries[id]; ok {
		return e, nil
	}
	h, ok := s.loaded[id]
	if !ok {
		histories, err := s.store.Load(s.ctx, id)
		if err != nil {
			return entry{}, err
		}
		h = histories[id]
		s.loaded[id] = h
	}
	state, err := fold(h)
	if err != nil {
		return entry{}, err
	}
	e := entry{order: len(s.entries), state: state, expected: h.Version}
	s.entries[id] = e
	return e, nil
}

// fresh declares streams that cannot exist yet, because their id was just made, so
// that they are not looked for.
func (s *session) fresh(ids ...eventstore.StreamID) {
	for _, id := range ids {
		if _, ok := s.loaded[id]; !ok {
			s.loaded[id] = eventstore.History{}
		}
	}
}
