package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/credit"
	"vqa/domain/video"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
)

// oracle reads the log event by event. It checks the laws and stores every state of every stream.
type oracle struct {
	log      eventstore.Store
	codec    *codec.Codec
	position int64
	streams  map[eventstore.StreamID]*track
	// requests has the events of each request.
	requests map[string][]eventstore.Recorded
	books    *simBooks
	// The objects of commands, in an order that is the same in every run of a seed.
	videos, keys map[string][]string // by account
	transactions map[string][]credit.Original
	analyses     []Run
	met          map[string]int
}

// track is the history of one stream. Version v is at index v-1.
type track struct {
	positions []int64
	chains    []eventstore.Chain
	states    []any
}

func newOracle(log eventstore.Store, met map[string]int) *oracle {
	return &oracle{
		log: log, codec: codec.Events(), streams: map[eventstore.StreamID]*track{}, requests: map[string][]eventstore.Recorded{},
		books: newSimBooks(), videos: map[string][]string{}, keys: map[string][]string{},
		transactions: map[string][]credit.Original{}, met: met,
	}
}

// follow reads the new events of the log. No append is running meanwhile. The error names the law that
// an event breaks.
func (o *oracle) follow() error {
	from := o.position
	for {
		page, err := o.log.Read(context.Background(), o.position, 1000)
		if err != nil {
			return err
		}
		for _, r := range page {
			if err := o.add(r); err != nil {
				return fmt.Errorf("%s at version %d of %s: %w", r.Event.EventType(), r.Version, r.Stream, err)
			}
		}
		if len(page) == 0 {
			break
		}
	}
	if o.position == from {
		return nil
	}
	// The order of the streams within one append is not fixed.
	for _, ids := range o.videos {
		slices.Sort(ids)
	}
	slices.SortFunc(o.analyses, func(a, b Run) int { return strings.Compare(a.AnalysisID, b.AnalysisID) })
	return o.books.join(o, moments{oracle: o, from: from, to: o.position})
}

// isFixture reports whether the video came with a test key.
func (o *oracle) isFixture(videoID string) bool {
	states := o.streams[videos.Stream(videoID)].states
	v, ok := states[len(states)-1].(video.State)
	return ok && v.Fixture
}

// add appends an event to its stream's history.
func (o *oracle) add(r eventstore.Recorded) error {
	t := o.streams[r.Stream]
	if t == nil {
		t = &track{}
		o.streams[r.Stream] = t
	}
	var before any
	var chain eventstore.Chain
	if n := len(t.states); n > 0 {
		before, chain = t.states[n-1], t.chains[n-1]
	}
	if r.Version != int64(len(t.states))+1 {
		return fmt.Errorf("follows version %d", len(t.states))
	}
	if r.Position <= o.position {
		return fmt.Errorf("position %d follows %d", r.Position, o.position)
	}
	name, data, err := o.codec.Marshal(r.Event)
	if err != nil {
		return err
	}
	meta, err := codec.MarshalMeta(r.Meta)
	if err != nil {
		return err
	}
	link := codec.Link(chain, codec.Encoded{
		Stream: r.Stream, Version: r.Version, Type: name, Data: data, AccountID: r.Meta.AccountID, Meta: meta,
	})
	if link != r.Chain {
		return errors.New("law 4: the chain is broken")
	}
	of, known := fold.Named(r.Stream.Category)
	if !known {
		return errors.New("an unknown category")
	}
	after, err := of.FoldAny(before, r)
	if err != nil {
		return err
	}
	if err := o.books.event(o, r, before, after); err != nil {
		return err
	}
	t.positions, t.chains, t.states = append(t.positions, r.Position), append(t.chains, link), append(t.states, after)
	o.position = r.Position
	o.requests[r.Meta.RequestID] = append(o.requests[r.Meta.RequestID], r)
	o.met[r.Event.EventType()]++
	o.list(r)
	return nil
}

// list collects the objects of later commands.
func (o *oracle) list(r eventstore.Recorded) {
	switch e := r.Event.(type) {
	case video.Registered:
		o.videos[e.AccountID] = append(o.videos[e.AccountID], e.VideoID)
	case analysis.Created:
		o.analyses = append(o.analyses, Run{AccountID: e.AccountID, AnalysisID: e.AnalysisID, VideoID: e.VideoID})
	case account.KeyIssued:
		o.keys[e.AccountID] = append(o.keys[e.AccountID], e.KeyID)
	case credit.Event:
		if t, ok := credit.TransactionOf(e); ok {
			o.transactions[r.Stream.ID] = append(o.transactions[r.Stream.ID], t)
		}
	}
}

// chains returns the chains of all streams.
func (o *oracle) chains() map[string]eventstore.Chain {
	heads := map[string]eventstore.Chain{}
	for id, t := range o.streams {
		heads[id.String()] = t.chains[len(t.chains)-1]
	}
	return heads
}

// moments is a part of a run, in positions of the log and in time.
type moments struct {
	*oracle
	from, to     int64
	began, ended time.Time
}

// sometime reports whether a condition holds for some state that a stream had within the moments.
func sometime[S any, E eventstore.Event](m moments, of fold.Of[S, E], id string, is func(S) bool) bool {
	var zero S
	t := m.streams[of.Stream(id)]
	if t == nil {
		return is(zero)
	}
	first, _ := slices.BinarySearch(t.positions, m.from+1) // versions that existed at the beginning
	if first == 0 && is(zero) {
		return true
	}
	for i := max(first-1, 0); i < len(t.states) && t.positions[i] <= m.to; i++ {
		if is(t.states[i].(S)) {
			return true
		}
	}
	return false
}

// latest returns the current state of a stream.
func latest[S any, E eventstore.Event](o *oracle, of fold.Of[S, E], id string) S {
	var zero S
	if t := o.streams[of.Stream(id)]; t != nil {
		return t.states[len(t.states)-1].(S)
	}
	return zero
}

// atRest checks a service without open work: no analysis is unfinished, all credits are available, and
// every snapshot equals the fold.
func (o *oracle) atRest(ctx context.Context) error {
	ids := slices.Collect(maps.Keys(o.streams))
	histories, err := o.log.Load(ctx, ids...)
	if err != nil {
		return err
	}
	for id, t := range o.streams {
		switch s := t.states[len(t.states)-1].(type) {
		case credit.State:
			if s.AvailableSeconds() != s.PostedSeconds {
				return fmt.Errorf("the end: %d of %d seconds of %s are available", s.AvailableSeconds(), s.PostedSeconds, id)
			}
		case analysis.State:
			if !s.Status.Terminal() {
				return fmt.Errorf("the end: %s is %s", id, s.Status)
			}
		}
		if err := restores(histories[id], t.states, id.Category, o.position); err != nil {
			return fmt.Errorf("law 1: %s: %w", id, err)
		}
	}
	return nil
}

// restores checks that a snapshot equals the fold of the events up to it: the stored one, and one
// that could have been stored at another version, which differs between seeds. Then the fold of the
// later events is the same, too.
func restores(h eventstore.History, states []any, category string, seed int64) error {
	if h.Version != int64(len(states)) {
		return fmt.Errorf("version %d, want %d", h.Version, len(states))
	}
	of, _ := fold.Named(category)
	version := seed%h.Version + 1
	snapshot, err := of.Snapshot(states[version-1])
	if err == nil {
		err = equals(snapshot, version, states)
	}
	if err == nil && h.Snapshot != nil {
		err = equals(h.Snapshot, h.SnapshotVersion, states)
	}
	return err
}

// equals checks that a snapshot of a version is read as the state of the version.
func equals(snapshot []byte, version int64, states []any) error {
	want := states[version-1]
	got := reflect.New(reflect.TypeOf(want))
	if err := json.Unmarshal(snapshot, got.Interface()); err != nil {
		return err
	}
	if diff := difference(want, got.Elem().Interface()); diff != "" {
		return fmt.Errorf("the snapshot of version %d (-log +snapshot)\n%s", version, diff)
	}
	return nil
}

// difference returns the diff of two states, empty when they are equal. It first compares them quickly,
// because most are equal.
func difference(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}
