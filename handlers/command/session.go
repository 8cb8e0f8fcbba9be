package command

import (
	"context"
	"time"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/incident"
	"vqa/domain/video"
	"vqa/eventstore"
	"vqa/eventstore/fold"
)

// aggregate joins the fold of a category of streams with the decisions on its state.
type aggregate[S any, C any, E eventstore.Event] struct {
	fold.Of[S, E]
	decide func(S, C, time.Time) ([]E, error)
	// snapshots are kept for streams that grow without end.
	snapshots bool
}

var (
	accounts = aggregate[account.State, account.Command, account.Event]{
		Of: fold.Account, decide: account.Decide, snapshots: true,
	}

	sandboxes = aggregate[account.SandboxQuota, account.OpenSandbox, account.SandboxIssued]{
		Of: fold.Sandbox, decide: account.DecideSandbox,
	}
	clientTokens = aggregate[account.ClientToken, account.MintClientToken, account.ClientTokenMinted]{
		Of: fold.ClientToken, decide: account.DecideClientToken,
	}
	credits = aggregate[credit.State, credit.Command, credit.Event]{
		Of: fold.Credit, decide: credit.Decide, snapshots: true,
	}
	videos   = aggregate[video.State, video.Command, video.Event]{Of: fold.Video, decide: video.Decide}
	analyses = aggregate[analysis.State, analysis.Command, analysis.Event]{Of: fold.Analysis, decide: analysis.Decide}

	incidents = aggregate[incident.State, incident.Command, incident.Event]{Of: fold.Incident, decide: incident.Decide}
)

// get returns the state of an aggregate as this session sees it.
func (a aggregate[S, C, E]) get(s *session, id string) (S, error) {
	e, err := s.entry(a.Stream(id), a.restore)
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
	if f := fault.Of(err); f != nil && f.Code == fault.ResourceNotFound && f.Param == "" {
		err = fault.NotFound("id", id) // a state that does not exist does not know its id
	}
	if err != nil || len(events) == 0 {
		return state, err
	}
	e, _ := s.known(a.Stream(id))
	pending := e.pending[:len(e.pending):len(e.pending)]
	for _, event := range events {
		state = a.Evolve(state, event)
		pending = append(pending, eventstore.NewEvent{Event: event, Meta: s.meta})
	}
	e.state, e.pending, e.snapshots = state, pending, a.snapshots
	s.own[a.Stream(id)] = e
	return state, nil
}

// restore makes a state of a loaded history.
func (a aggregate[S, C, E]) restore(h eventstore.History) (any, error) { return a.Restore(h) }

// entry is one aggregate within a session.
type entry struct {
	aggregateState
	// order is when the group first asked for it; streams are written in that order.
	order int
	// remembered is true when the state came from the lane's memory, not from the log.
	remembered bool
	pending    []eventstore.NewEvent
	snapshots  bool
}

// aggregateState is what a lane knows of a stream.
type aggregateState struct {
	state any
	// version and chain are those of the stream that state was folded from, before any
	// pending event.
	version int64
	chain   eventstore.Chain
	// snapshotVersion is that of the newest snapshot in the log.
	snapshotVersion int64
}

// session is what one decide function works on. What it changes is its own until the
// decision stands; then it becomes the group's.
type session struct {
	ctx    context.Context
	store  eventstore.Store
	cache  *cache
	loaded map[eventstore.StreamID]eventstore.History
	// group are the entries that earlier decisions of the group left, own those of this
	// one.
	group, own map[eventstore.StreamID]entry
	// asked counts the streams that the group asked for.
	asked *int
	now   time.Time
	meta  eventstore.Meta
}

// known returns the entry of a stream that the group or this session has asked for.
func (s *session) known(id eventstore.StreamID) (entry, bool) {
	if e, ok := s.own[id]; ok {
		return e, true
	}
	e, ok := s.group[id]
	return e, ok
}

// entry returns the aggregate of a stream, loading it when nobody has yet.
func (s *session) entry(id eventstore.StreamID, restore func(eventstore.History) (any, error)) (entry, error) {
	if e, ok := s.known(id); ok {
		return e, nil
	}
	*s.asked++
	e := entry{order: *s.asked}
	if e.aggregateState, e.remembered = s.cache.get(id); !e.remembered {
		h, err := s.load(id)
		if err != nil {
			return entry{}, err
		}
		state, err := restore(h)
		if err != nil {
			return entry{}, err
		}
		e.aggregateState = aggregateState{state, h.Version, h.Chain, h.SnapshotVersion}
	}
	s.own[id] = e
	return e, nil
}

func (s *session) load(id eventstore.StreamID) (eventstore.History, error) {
	h, ok := s.loaded[id]
	if ok {
		return h, nil
	}
	histories, err := s.store.Load(s.ctx, id)
	if err != nil {
		return eventstore.History{}, err
	}
	s.loaded[id] = histories[id]
	return histories[id], nil
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
