package feed_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/feed"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
)

// future is an event that only the newer release knows.
type future struct {
	Text string `json:"text"`
}

func (future) EventType() string { return "storetest.future" }

// newer adds a feed and a store of a newer release to a fixture, on the same database.
func (f fixture) newer() fixture {
	f.Helper()
	known := codec.New(codec.Register[storetest.Noted]("storetest.noted"), codec.Register[future]("storetest.future"))
	f.store = postgres.New(f.pool, known)
	f.feed = feed.New(f.pool, known, slog.New(slog.DiscardHandler))
	f.background(f.feed.Run)
	return f
}

// appendFuture appends an event of the newer release to a stream.
func (f fixture) appendFuture(id string, expected int64) eventstore.Recorded {
	f.Helper()
	recorded, err := storetest.Append(f.Context(), f.store, eventstore.Batch{Writes: []eventstore.Write{{
		Stream: eventstore.StreamID{Category: "test", ID: id}, Expected: expected,
		Events: []eventstore.NewEvent{{Event: future{Text: id}, Meta: eventstore.Meta{AccountID: "acct_1"}}},
	}}})
	require.NoError(f, err)
	return recorded[0]
}

// TestAnUnknownEventWaitsForANewerNode: a node of the previous release holds an unknown event and the
// later events of its stream for a node of the new release. All others are delivered, none is parked.
func TestAnUnknownEventWaitsForANewerNode(t *testing.T) {
	t.Parallel()
	f := newFixture(t, feed.WithPollInterval(20*time.Millisecond))
	newer := f.newer()
	older := make(chan eventstore.Recorded, 100)
	stop := f.subscribe("g", into(older))

	want := newer.append("mixed", 0, 1)
	unknown := newer.appendFuture("mixed", 1)
	later := newer.append("mixed", 2, 2)
	want = append(want, f.append("other", 0, 5)...)
	require.Empty(t, cmp.Diff(want, f.await(older, len(want))))
	f.awaitPosition("g", want[len(want)-1].Position)
	all, err := f.feed.Subscribers(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int64{3, 0}, []int64{all[0].SetAside, all[0].Parked})
	require.Empty(t, older, "the later events of the stream wait")

	// While both nodes run, the newer one takes what the older one cannot handle.
	both := make(chan eventstore.Recorded, 100)
	newer.subscribe("g", into(both))
	require.Empty(t, cmp.Diff([]eventstore.Recorded{unknown}, f.await(both, 1)))
	rest := map[int64]bool{}
	for len(rest) < len(later) {
		select {
		case e := <-older:
			rest[e.Version] = true
		case e := <-both:
			rest[e.Version] = true
		case <-time.After(waitLimit):
			require.Fail(t, "the later events of the stream were not delivered")
		}
	}
	require.Equal(t, map[int64]bool{3: true, 4: true}, rest)
	f.awaitNoneSetAside("g")
	stop()
	another := newer.appendFuture("mixed", 4)
	require.Empty(t, cmp.Diff([]eventstore.Recorded{another}, f.await(both, 1)))
	parked, err := f.feed.ParkedEvents(t.Context(), "g", 0)
	require.NoError(t, err)
	require.Empty(t, parked)
}

// TestAnEventThatNoNodeKnowsIsParked: after a day without a node that knows the type, an operator must
// look at the event. It does not block its stream any longer.
func TestAnEventThatNoNodeKnowsIsParked(t *testing.T) {
	t.Parallel()
	f := newFixture(t, feed.WithPollInterval(20*time.Millisecond), feed.WithUnknownFor(time.Second))
	newer := f.newer()
	foreign := newer.appendFuture("mixed", 0)
	got := make(chan eventstore.Recorded, 10)
	f.subscribe("g", into(got))
	later := newer.append("mixed", 1, 1)
	require.Empty(t, cmp.Diff(later, f.await(got, 1)), "it waits behind the unknown event")
	parked, err := f.feed.ParkedEvents(t.Context(), "g", 0)
	require.NoError(t, err)
	require.Len(t, parked, 1)
	require.Equal(t, foreign.Position, parked[0].Position)
	require.Contains(t, parked[0].Error, `does not know the event type "storetest.future"`)
}
