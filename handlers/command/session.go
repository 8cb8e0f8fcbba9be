package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/incident"
	"vqa/domain/stream"
	"vqa/domain/video"
	"vqa/domain/webhook"
	"vqa/eventstore"
	"vqa/eventstore/fold"
)

// aggregate combines the fold of a category of streams with its decide function.
type aggregate[S any, C any, E eventstore.Event] struct {
	fold.Of[S, E]
	decide func(S, C, time.Time) ([]E, error)
	// snapshots is true for categories whose streams grow without bound.
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
	videos = aggregate[video.State, video.Command, video.Event]{
		Of: fold.Video, decide: video.Decide, snapshots: true,
	}
	analyses = aggregate[analysis.State, analysis.Command, analysis.Event]{
		Of: fold.Analysis, decide: analysis.Decide, snapshots: true,
	}

	streams = aggregate[stream.State, stream.Command, stream.Event]{
		Of: fold.Stream, decide: stream.Decide, snapshots: true,
	}

	// webhooks grow with each create and delete of an endpoint.
	webhooks = aggregate[webhook.State, webhook.Command, webhook.Event]{Of: fold.Webhook, decide: webhook.Decide, snapshots: true}

	// A delivery has a stream of its own, with its outcome.
	webhookDeliveries = aggregate[webhook.Delivery, webhook.DeliveryCommand, webhook.DeliveryEvent]{Of: fold.Delivery, decide: webhook.DecideDelivery}

	incidents = aggregate[incident.State, incident.Command, incident.Event]{Of: fold.Incident, decide: incident.Decide}
)

// get returns the state of an aggregate within this session.
func (a aggregate[S, C, E]) get(s *session, id string) (S, error) {
	e, err := s.entry(a.Stream(id), a.restore)
	if err != nil {
		var zero S
		return zero, err
	}
	return e.state.(S), nil
}

// record decides a command on the state of an aggregate within this session and adds the events
// to the append. It returns the new state.
func (a aggregate[S, C, E]) record(s *session, id string, command C) (S, error) {
	state, err := a.get(s, id)
	if err != nil {
		return state, err
	}
	events, err := a.decide(state, command, s.now)
	if f := fault.Of(err); f != nil && f.Code == fault.ResourceNotFound && f.Param == "" {
		err = fault.NotFound("id", id) // the state of a missing aggregate has no id
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

// restore folds a loaded history to a state.
func (a aggregate[S, C, E]) restore(h eventstore.History) (any, error) { return a.Restore(h) }

// entry is one aggregate within a session.
type entry struct {
	aggregateState
	// order is the rank of the group's first use of the aggregate, from 1. Streams are written
	// in that order.
	order int
	// remembered is true when the state came from the lane's cache and not from the log.
	remembered bool
	pending    []eventstore.NewEvent
	snapshots  bool
}

// aggregateState is the state of a stream with its version.
type aggregateState struct {
	state any
	// version and chain are those of the stream in the log, without the pending events.
	version int64
	chain   eventstore.Chain
	// snapshotVersion is the version of the newest snapshot in the log.
	snapshotVersion int64
}

// session is the view of one decide function. Its changes become visible to the rest of the group
// only when the command is accepted.
type session struct {
	ctx    context.Context
	store  eventstore.Store
	cache  *cache
	loaded map[eventstore.StreamID]eventstore.History
	// group has the entries of earlier commands of the group. own has those of this one.
	group, own map[eventstore.StreamID]entry
	// asked counts the streams that the group used.
	asked *int
	now   time.Time
	meta  eventstore.Meta
}

// known returns the entry of a stream that the group or this session has already used.
func (s *session) known(id eventstore.StreamID) (entry, bool) {
	if e, ok := s.own[id]; ok {
		return e, true
	}
	e, ok := s.group[id]
	return e, ok
}

// entry returns the aggregate of a stream. It loads the stream on first use.
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
		if errors.Is(err, fold.ErrOtherShape) {
			if h, err = withoutSnapshot(s.ctx, s.store, id, h); err == nil {
				state, err = restore(h)
			}
		}
		if err != nil {
			return entry{}, err
		}
		e.aggregateState = aggregateState{state, h.Version, h.Chain, h.SnapshotVersion}
	}
	s.own[id] = e
	return e, nil
}

// withoutSnapshot loads the whole history of a stream, up to the version that was loaded before.
func withoutSnapshot(ctx context.Context, store eventstore.Store, id eventstore.StreamID, h eventstore.History) (eventstore.History, error) {
	events, err := store.LoadAll(ctx, id)
	if err != nil {
		return h, err
	}
	if int64(len(events)) < h.Version {
		return h, fmt.Errorf("stream %s has %d events and version %d", id, len(events), h.Version)
	}
	return eventstore.History{Version: h.Version, Chain: h.Chain, Events: events[:h.Version]}, nil
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

// fresh declares streams that cannot exist yet, because their id is new. They are not loaded.
func (s *session) fresh(ids ...eventstore.StreamID) {
	for _, id := range ids {
		if _, ok := s.loaded[id]; !ok {
			s.loaded[id] = eventstore.History{}
		}
	}
}
