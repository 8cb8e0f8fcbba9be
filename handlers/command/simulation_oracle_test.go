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

// oracle follows the log, event by event, holds it to the laws and remembers every state
// that every stream was ever in.
type oracle struct {
	log      eventstore.Store
	codec    *codec.Codec
	position int64
	streams  map[eventstore.StreamID]*track
	// requests are the events of each request.
	requests map[string][]eventstore.Recorded
	books    *simBooks
	// What commands can be about, in an order that is the same in every run of a seed.
	videos, keys map[string][]string // by account
	transactions map[string][]credit.Original
	analyses     []Run
	met          map[string]int
}

// track is the history of one stream; version v is at index v-1.
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

// follow reads what is new in the log, up to a moment at which no append is under way. The
// error names the law that an event breaks.
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
	// Several streams of one append may come in any order.
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

// add takes one more event into its stream's history.
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

// list keeps what later commands can be about.
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

// chains are the heads of all streams.
func (o *oracle) chains() map[string]eventstore.Chain {
	heads := map[string]eventstore.Chain{}
	for id, t := range o.streams {
		heads[id.String()] = t.chains[len(t.chains)-1]
	}
	return heads
}

// moments is a stretch of a run, in positions of the log and in time.
type moments struct {
	*oracle
	from, to     int64
	began, ended time.Time
}

// sometime reports whether something was true of a stream at some version that it had
// within the moments.
func sometime[S any, E eventstore.Event](m moments, of fold.Of[S, E], id string, is func(S) bool) bool {
	var zero S
	t := m.streams[of.Stream(id)]
	if t == nil {
		return is(zero)
	}
	first, _ := slices.BinarySearch(t.positions, m.from+1) // versions that were there at the beginning
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

// latest is the state of a stream now.
func latest[S any, E eventstore.Event](o *oracle, of fold.Of[S, E], id string) S {
	var zero S
	if t := o.streams[of.Stream(id)]; t != nil {
		return t.states[len(t.states)-1].(S)
	}
	return zero
}

// atRest holds a service that has nothing open to what must be true then: no analysis is
// unfinished, all credits are available, and every snapshot is the fold.
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
		if err := restores(histories[id], t.states); err != nil {
			return fmt.Errorf("law 1: %s: %w", id, err)
		}
	}
	return nil
}

// restores: a snapshot is what the events up to it fold to.
func restores(h eventstore.History, states []any) error {
	if h.Version != int64(len(states)) {
		return fmt.Errorf("version %d, want %d", h.Version, len(states))
	}
	if h.Snapshot == nil {
		return nil
	}
	want := states[h.SnapshotVersion-1]
	got := reflect.New(reflect.TypeOf(want))
	if err := json.Unmarshal(h.Snapshot, got.Interface()); err != nil {
		return err
	}
	if diff := difference(want, got.Elem().Interface()); diff != "" {
		return fmt.Errorf("the snapshot of version %d (-log +snapshot)\n%s", h.SnapshotVersion, diff)
	}
	return nil
}

// difference is empty for equal states; the quick comparison first, for there are many.
func difference(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}
