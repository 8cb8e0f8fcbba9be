package public_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/video"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
	"vqa/projections"
	"vqa/projections/public"
	"vqa/projections/resources"
)

func TestEventShowsTheResourceAtItsTime(t *testing.T) {
	t.Parallel()
	w := open(t)
	owner := w.tenant(true)
	ready := w.append(w.uploaded(owner, 0))
	eventID, ok := public.ID(ready)
	require.True(t, ok)
	before, err := w.reader.Event(t.Context(), owner, eventID)
	require.NoError(t, err)
	require.Equal(t, public.VideoReady, before.Type)
	require.Equal(t, int64(2), before.Sequence)
	require.Equal(t, start, before.At)
	require.Equal(t, video.ReadyStatus, before.Video.Status)

	deleted := batch(owner, ready.Stream, 2, video.Deleted{VideoID: ready.Stream.ID, At: start})
	deleted.Writes[0].Chain = ready.Chain
	w.append(deleted)
	after, err := w.reader.Event(t.Context(), owner, eventID)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(before, after), "a removed video is shown as it was")
}

func TestEveryTypeIsPublished(t *testing.T) {
	t.Parallel()
	w := open(t)
	owner := w.tenant(true)
	w.append(w.uploaded(owner, 0))
	broken := w.ids.New(id.Video)
	w.append(batch(owner, fold.Video.Stream(broken), 0,
		video.Registered{VideoID: broken, AccountID: owner.AccountID, Livemode: true, Source: video.SourceURL, At: start},
		video.Failed{VideoID: broken, Error: video.Failure{Code: fault.URLFetchFailed}, At: start}))
	w.ask(owner, func(i string, at time.Time) analysis.Event {
		return analysis.Completed{AnalysisID: i, Result: answer.Result{Answer: answer.Yes}, At: at}
	})
	w.ask(owner, func(i string, at time.Time) analysis.Event {
		return analysis.Failed{AnalysisID: i, Error: analysis.Failure{Code: fault.InferenceError}, At: at}
	})
	w.ask(owner, func(i string, at time.Time) analysis.Event { return analysis.Canceled{AnalysisID: i, At: at} })

	list, more, err := w.reader.Events(t.Context(), owner, public.Filter{}, projections.Page{Limit: 10})
	require.NoError(t, err)
	require.False(t, more)
	slices.Reverse(list)
	var got []public.Type
	for _, e := range list {
		got = append(got, e.Type)
		require.True(t, (e.Video == nil) != (e.Analysis == nil))
		// Each event is also found by its id and by its type.
		one, err := w.reader.Event(t.Context(), owner, e.ID)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(e, one))
		same, _, err := w.reader.Events(t.Context(), owner, public.Filter{Type: e.Type}, projections.Page{Limit: 10})
		require.NoError(t, err)
		require.Equal(t, []string{e.ID}, ids(same))
	}
	// The end of a stream is not in the log yet. Its type is part of the list.
	require.Equal(t, types[:5], got)
}

func TestFeedPagesBothWays(t *testing.T) {
	t.Parallel()
	w := open(t)
	owner, other := w.tenant(true), w.tenant(true)
	for i := range 7 {
		w.append(w.uploaded(owner, i))
		w.append(w.uploaded(other, i))
	}
	want := w.order(owner)
	require.Len(t, want, 7)

	var down []string
	page := projections.Page{Limit: 3}
	for {
		list, more, err := w.reader.Events(t.Context(), owner, public.Filter{}, page)
		require.NoError(t, err)
		down = append(down, ids(list)...)
		if !more {
			break
		}
		require.Len(t, list, 3)
		page.StartingAfter = list[2].ID
	}
	slices.Reverse(down)
	require.Equal(t, want, down)

	var up []string
	for page = (projections.Page{Limit: 3, EndingBefore: public.Beginning}); ; {
		list, more, err := w.reader.Events(t.Context(), owner, public.Filter{}, page)
		require.NoError(t, err)
		slices.Reverse(list)
		up = append(up, ids(list)...)
		if !more {
			break
		}
		page.EndingBefore = list[len(list)-1].ID
	}
	require.Equal(t, want, up)

	// The bounds of time are inclusive, in milliseconds.
	from, to := start.Add(2*time.Second), start.Add(4*time.Second)
	list, _, err := w.reader.Events(t.Context(), owner, public.Filter{}, projections.Page{Limit: 10, CreatedAfter: &from, CreatedBefore: &to})
	require.NoError(t, err)
	slices.Reverse(list)
	require.Equal(t, want[2:5], ids(list))
	list, more, err := w.reader.Events(t.Context(), owner, public.Filter{}, projections.Page{Limit: 10, StartingAfter: public.Beginning})
	require.NoError(t, err)
	require.Empty(t, list)
	require.False(t, more)
}

func TestFeedIsTheTenantsOwn(t *testing.T) {
	t.Parallel()
	w := open(t)
	live := w.tenant(true)
	test := resources.Tenant{AccountID: live.AccountID, Livemode: false}
	recorded := w.append(w.uploaded(live, 0))
	eventID, _ := public.ID(recorded)
	for name, tenant := range map[string]resources.Tenant{"another account": w.tenant(true), "the other mode": test} {
		_, err := w.reader.Event(t.Context(), tenant, eventID)
		require.Equal(t, fault.ResourceNotFound, fault.Of(err).Code, name)
		list, _, err := w.reader.Events(t.Context(), tenant, public.Filter{ResourceID: recorded.Stream.ID}, projections.Page{Limit: 10})
		require.NoError(t, err)
		require.Empty(t, list, name)
		_, _, err = w.reader.Events(t.Context(), tenant, public.Filter{}, projections.Page{Limit: 10, StartingAfter: eventID})
		require.Equal(t, fault.ResourceNotFound, fault.Of(err).Code, name)
		latest, _, err := w.reader.Latest(t.Context(), tenant)
		require.NoError(t, err)
		require.Equal(t, public.Beginning, latest, name)
	}
	list, _, err := w.reader.Events(t.Context(), live, public.Filter{ResourceID: recorded.Stream.ID}, projections.Page{Limit: 10})
	require.NoError(t, err)
	require.Equal(t, []string{eventID}, ids(list))
	for _, unknown := range []string{"", "evt_", changed(eventID, len(eventID)-1), changed(eventID, 6), "evt_ZZZZZZZZZZZZZZZZZZZZZZZZZZ", public.Beginning} {
		_, err := w.reader.Event(t.Context(), live, unknown)
		require.Equal(t, fault.ResourceNotFound, fault.Of(err).Code, unknown)
	}
	list, _, err = w.reader.Events(t.Context(), live, public.Filter{ResourceID: "acct_x"}, projections.Page{Limit: 10})
	require.NoError(t, err)
	require.Empty(t, list)
}

// changed gives an id that differs from the given one in the character at i.
func changed(eventID string, i int) string {
	char := "Z"
	if eventID[i:i+1] == char {
		char = "Y"
	}
	return eventID[:i] + char + eventID[i+1:]
}

// TestFeedMissesNothingThatCommitsLate follows a feed while many connections write. One of
// them commits last what it wrote first.
func TestFeedMissesNothingThatCommitsLate(t *testing.T) {
	t.Parallel()
	w := open(t)
	owner := w.tenant(true)
	w.append(w.uploaded(owner, 0))
	commit := w.late(w.uploaded(owner, 1))
	const writers, each = 4, 15
	var writing sync.WaitGroup
	for range writers {
		writing.Go(func() {
			for range each {
				if _, err := w.store.Append(t.Context(), w.uploaded(owner, 2)); err != nil {
					t.Errorf("append: %v", err)
				}
			}
		})
	}
	written := make(chan struct{})
	go func() { writing.Wait(); commit(); close(written) }()

	var seen []string
	position, last := int64(0), false
	for {
		list, next, err := w.reader.Since(t.Context(), owner, public.Filter{}, position, 3)
		require.NoError(t, err)
		require.GreaterOrEqual(t, next, position)
		seen, position = append(seen, ids(list)...), next
		if len(list) > 0 {
			continue
		}
		if last {
			break
		}
		select {
		case <-written:
			last = true // the remaining passes see all events now in the log
		default:
		}
	}
	require.Len(t, seen, 2+writers*each)
	require.Equal(t, w.order(owner), seen)
}

func TestIDsAreMadeOfTimeAndChain(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_800_000_000_123)
	r := eventstore.Recorded{Event: video.Ready{At: at}, Chain: eventstore.Chain{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}
	got, ok := public.ID(r)
	require.True(t, ok)
	require.Equal(t, "evt_01MCC5RM3V041061050R3GG28A", got)
	require.True(t, id.Valid(id.Event, got))
	r.Chain[10]++
	same, _ := public.ID(r)
	require.Equal(t, got, same, "ten bytes of the chain identify the event")
	r.Chain[9]++
	other, _ := public.ID(r)
	require.NotEqual(t, got, other)
	_, ok = public.ID(eventstore.Recorded{Event: video.Registered{At: at}})
	require.False(t, ok)
}

// types are all public types.
var types = []public.Type{
	public.VideoReady, public.VideoFailed, public.AnalysisCompleted, public.AnalysisFailed, public.AnalysisCanceled, public.StreamEnded,
}

// TestTypesAreStoredNames checks that the types, the stored names and the indexes agree.
func TestTypesAreStoredNames(t *testing.T) {
	t.Parallel()
	w := open(t)
	stored := codec.Events().Names()
	plain := make([]string, len(stored)) // without the version
	for i, name := range stored {
		plain[i], _, _ = strings.Cut(name, "@")
	}
	for _, name := range types {
		var is bool
		require.NoError(t, w.pool.QueryRow(t.Context(), "select is_public_event($1)", string(name)).Scan(&is))
		require.True(t, is, name)
		require.True(t, slices.Contains(plain, string(name)) || name == public.StreamEnded, name)
	}
	for i, name := range stored {
		var is bool
		require.NoError(t, w.pool.QueryRow(t.Context(), "select is_public_event($1)", name).Scan(&is))
		require.Equal(t, slices.Contains(types, public.Type(plain[i])), is, name)
	}
}

// TestFeedIsReadFromItsIndexes checks that the planner uses an index for the condition of
// the queries. The contents of the table decide which of the two it uses.
func TestFeedIsReadFromItsIndexes(t *testing.T) {
	t.Parallel()
	w := open(t)
	owner := w.tenant(true)
	for i := range 50 {
		w.append(w.uploaded(owner, i))
	}
	w.append(w.uploaded(w.tenant(true), 0))
	const feed = "select 1 from events e where is_public_event(e.type) and e.account_id = $1"
	require.Contains(t, w.plan(feed+" and e.position > 5 order by position desc", owner.AccountID), "events_public_by_")
	require.Contains(t, w.plan(feed+` and e.chain >= '\x01' and e.chain <= '\x02'`, owner.AccountID), "events_public_by_")
}
