package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/eventstore"
)

func load(t *testing.T, ctx context.Context, s eventstore.Store) {
	a := mustAppend(t, ctx, s, batch(write("a", 0, note("a", 1), note("a", 2))))
	b := mustAppend(t, ctx, s, batch(write("b", 0, note("b", 1))))

	histories, err := s.Load(ctx, stream("b"), stream("absent"), stream("a"))
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(map[eventstore.StreamID]eventstore.History{
		stream("a"):      {Version: 2, Chain: a[1].Chain, Events: a},
		stream("b"):      {Version: 1, Chain: b[0].Chain, Events: b},
		stream("absent"): {},
	}, histories))

	histories, err = s.Load(ctx)
	require.NoError(t, err)
	require.Empty(t, histories)
	events, err := s.LoadAll(ctx, stream("absent"))
	require.NoError(t, err)
	require.Empty(t, events)
}

func snapshots(t *testing.T, ctx context.Context, s eventstore.Store) {
	first := write("a", 0, note("a", 1), note("a", 2))
	first.Snapshot = []byte(`{"sum":  3, "of": "<2>"}`)
	events := mustAppend(t, ctx, s, batch(first))

	load := func() eventstore.History {
		histories, err := s.Load(ctx, stream("a"))
		require.NoError(t, err)
		return histories[stream("a")]
	}
	require.Empty(t, cmp.Diff(eventstore.History{Version: 2, Chain: events[1].Chain, Snapshot: first.Snapshot, SnapshotVersion: 2}, load()))

	// An append without a snapshot keeps the old snapshot. Its events follow the snapshot.
	later := mustAppend(t, ctx, s, batch(write("a", 2, note("a", 3), note("a", 4))))
	require.Empty(t, cmp.Diff(eventstore.History{
		Version: 4, Chain: later[1].Chain, Snapshot: first.Snapshot, SnapshotVersion: 2, Events: later,
	}, load()))
	// An assertion does not change the snapshot.
	mustAppend(t, ctx, s, batch(write("a", 4)))
	require.Equal(t, int64(2), load().SnapshotVersion)

	second := write("a", 4, note("a", 5))
	second.Snapshot = []byte(`{"sum":15}`)
	last := mustAppend(t, ctx, s, batch(second))
	require.Empty(t, cmp.Diff(eventstore.History{Version: 5, Chain: last[0].Chain, Snapshot: second.Snapshot, SnapshotVersion: 5}, load()))

	page, err := s.ReadStream(ctx, stream("a"), 2, 2)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(later, page))
	page, err = s.ReadStream(ctx, stream("a"), 5, 2)
	require.NoError(t, err)
	require.Empty(t, page)
	_, err = s.ReadStream(ctx, stream("a"), 0, 0)
	require.Error(t, err)
	whole, err := s.LoadAll(ctx, stream("a"))
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(append(append(events, later...), last...), whole))
}

func read(t *testing.T, ctx context.Context, s eventstore.Store) {
	require.Empty(t, all(t, ctx, s, 3))
	var want []eventstore.Recorded
	for i := range 10 {
		want = append(want, mustAppend(t, ctx, s, batch(
			write(fmt.Sprint("x", i%3), int64(i/3), note("x", i/3+1)),
			write(fmt.Sprint("y", i), 0, note("y", 1))))...)
	}
	for _, page := range []int{1, 3, 20, 1000} {
		require.Empty(t, cmp.Diff(want, all(t, ctx, s, page)), "pages of %d", page)
	}
	rest, err := s.Read(ctx, want[14].Position, 100)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(want[15:], rest))
	beyond, err := s.Read(ctx, want[len(want)-1].Position+1000, 100)
	require.NoError(t, err)
	require.Empty(t, beyond)
}

func receiptAt(key string, at time.Time, resource string) eventstore.Receipt {
	return eventstore.Receipt{
		AccountID: "acct_1", Key: key, RequestHash: [32]byte{1, 2, 31: 3}, ResourceID: resource, Body: []byte{}, CreatedAt: at,
	}
}

func receipts(t *testing.T, ctx context.Context, s eventstore.Store) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	kept := receiptAt("k", now, "an_1")
	mustAppend(t, ctx, s, eventstore.Batch{
		Writes: []eventstore.Write{write("a", 0, note("a", 1))}, Receipts: []eventstore.Receipt{kept},
	})
	got, found, err := s.Receipt(ctx, "acct_1", "k", now)
	require.NoError(t, err)
	require.True(t, found)
	require.Empty(t, cmp.Diff(kept, got))

	// A taken receipt is reported first, whether the streams match or not.
	for _, expected := range []int64{0, 1} {
		_, err = s.Append(ctx, eventstore.Batch{
			Writes:   []eventstore.Write{write("a", expected, note("a", 2))},
			Receipts: []eventstore.Receipt{receiptAt("k2", now, "an_2"), receiptAt("k", now.Add(time.Hour), "an_2")},
		})
		var taken *eventstore.ReceiptError
		require.ErrorAs(t, err, &taken)
		require.Equal(t, eventstore.ReceiptError{AccountID: "acct_1", Key: "k"}, *taken)
	}
	require.Len(t, all(t, ctx, s, 10), 1)
	_, found, err = s.Receipt(ctx, "acct_1", "k2", now)
	require.NoError(t, err)
	require.False(t, found)

	// Another account may use the same key.
	other := receiptAt("k", now, "an_3")
	other.AccountID = "acct_2"
	mustAppend(t, ctx, s, eventstore.Batch{
		Writes: []eventstore.Write{write("b", 0, note("b", 1))}, Receipts: []eventstore.Receipt{other},
	})
}

func expiredReceipts(t *testing.T, ctx context.Context, s eventstore.Store) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	mustAppend(t, ctx, s, eventstore.Batch{
		Writes:   []eventstore.Write{write("a", 0, note("a", 1))},
		Receipts: []eventstore.Receipt{receiptAt("k", now, "an_1")},
	})
	for _, test := range []struct {
		after time.Duration
		found bool
	}{{0, true}, {eventstore.ReceiptWindow - time.Microsecond, true}, {eventstore.ReceiptWindow, false}} {
		_, found, err := s.Receipt(ctx, "acct_1", "k", now.Add(test.after))
		require.NoError(t, err)
		require.Equal(t, test.found, found, "after %s", test.after)
	}
	again := receiptAt("k", now.Add(eventstore.ReceiptWindow), "an_2")
	mustAppend(t, ctx, s, eventstore.Batch{
		Writes: []eventstore.Write{write("a", 1, note("a", 2))}, Receipts: []eventstore.Receipt{again},
	})
	got, found, err := s.Receipt(ctx, "acct_1", "k", again.CreatedAt)
	require.NoError(t, err)
	require.True(t, found)
	require.Empty(t, cmp.Diff(again, got))
}

func responses(t *testing.T, ctx context.Context, s eventstore.Store) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	require.Error(t, s.SaveResponse(ctx, "acct_1", "k", 201, nil), "a receipt that does not exist")
	r := receiptAt("k", now, "an_1")
	mustAppend(t, ctx, s, eventstore.Batch{
		Writes: []eventstore.Write{write("a", 0, note("a", 1))}, Receipts: []eventstore.Receipt{r},
	})
	body := []byte("{\"id\":\"an_1\"}\x00\xff")
	require.NoError(t, s.SaveResponse(ctx, "acct_1", "k", 201, body))
	got, _, err := s.Receipt(ctx, "acct_1", "k", now)
	require.NoError(t, err)
	r.Status, r.Body = 201, body
	require.Empty(t, cmp.Diff(r, got))
}
