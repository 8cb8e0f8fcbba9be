package postgres_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/eventstore"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
)

// scanned appends three events alternately to two streams of two accounts.
func scanned(t *testing.T) (*postgres.Store, []eventstore.Recorded) {
	t.Helper()
	pool, _ := connect(t)
	store := postgres.New(pool, storetest.Codec())
	var all []eventstore.Recorded
	for i := range 3 {
		for _, id := range []string{"a_1", "b%2"} {
			request := fmt.Sprintf("req_%d", i)
			recorded, err := storetest.Append(t.Context(), store, eventstore.Batch{Writes: []eventstore.Write{{
				Stream: eventstore.StreamID{Category: "test", ID: id}, Expected: int64(i),
				Events: []eventstore.NewEvent{{
					Event: storetest.Noted{Text: "note of " + id, Number: i},
					Meta:  eventstore.Meta{AccountID: "acct_" + id, RequestID: request, CorrelationID: "c" + request, Actor: "key_1"},
				}},
			}}})
			require.NoError(t, err)
			all = append(all, recorded...)
		}
	}
	return store, all
}

func TestScanSelects(t *testing.T) {
	t.Parallel()
	store, all := scanned(t)
	between := all[2].RecordedAt
	tests := map[string]struct {
		filter postgres.Filter
		limit  int
		newest bool
		want   []int // indices of all
	}{
		"everything":       {postgres.Filter{}, 10, false, []int{0, 1, 2, 3, 4, 5}},
		"the first":        {postgres.Filter{}, 2, false, []int{0, 1}},
		"the last":         {postgres.Filter{}, 2, true, []int{4, 5}},
		"a stream":         {postgres.Filter{Streams: []string{"test/a_1"}}, 10, false, []int{0, 2, 4}},
		"streams":          {postgres.Filter{Streams: []string{"test/a_1", "test/b%2"}}, 3, false, []int{0, 1, 2}},
		"a pattern":        {postgres.Filter{Streams: []string{"test/b*"}}, 10, false, []int{1, 3, 5}},
		"no wildcards":     {postgres.Filter{Streams: []string{"test/a*_*", "x*"}}, 10, false, []int{0, 2, 4}},
		"pattern or name":  {postgres.Filter{Streams: []string{"test/b*", "test/a_1"}}, 10, false, []int{0, 1, 2, 3, 4, 5}},
		"a type":           {postgres.Filter{Types: []string{"storetest.noted"}}, 1, true, []int{5}},
		"no type":          {postgres.Filter{Types: []string{"storetest.no"}}, 10, false, nil},
		"a type's pattern": {postgres.Filter{Types: []string{"*.noted"}}, 1, false, []int{0}},
		"an account":       {postgres.Filter{AccountID: "acct_a_1"}, 10, false, []int{0, 2, 4}},
		"since":            {postgres.Filter{Since: between}, 10, false, []int{2, 3, 4, 5}},
		"until":            {postgres.Filter{Until: between}, 10, false, []int{0, 1, 2}},
		"after and before": {postgres.Filter{After: all[1].Position, Before: all[4].Position}, 10, false, []int{2, 3}},
		"after a version":  {postgres.Filter{Streams: []string{"test/a_1"}, AfterVersion: 1}, 10, false, []int{2, 4}},
		"a correlation":    {postgres.Filter{Correlations: []string{"creq_1"}}, 10, false, []int{2, 3}},
		"a request":        {postgres.Filter{RequestID: "req_2"}, 10, false, []int{4, 5}},
		"by correlation":   {postgres.Filter{RequestID: "creq_2"}, 10, false, []int{4, 5}},
		"mentions":         {postgres.Filter{Mentions: "of b%2"}, 10, false, []int{1, 3, 5}},
		"both":             {postgres.Filter{AccountID: "acct_a_1", RequestID: "req_1"}, 10, false, []int{2}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := store.Scan(t.Context(), tt.filter, tt.limit, tt.newest)
			require.NoError(t, err)
			var got, want []int64
			for _, e := range found {
				got = append(got, e.Position)
			}
			for _, i := range tt.want {
				want = append(want, all[i].Position)
			}
			require.Empty(t, cmp.Diff(want, got))
		})
	}
}

func TestStoredEventsFollowFromEachOther(t *testing.T) {
	t.Parallel()
	store, all := scanned(t)
	found, err := store.Scan(t.Context(), postgres.Filter{Streams: []string{"test/a_1"}}, 10, false)
	require.NoError(t, err)
	require.Equal(t, all[0].Meta, found[0].ParsedMeta())
	require.Equal(t, all[0].RecordedAt, found[0].RecordedAt)
	var before *postgres.Stored
	for i := range found {
		holds, err := found[i].Follows(before)
		require.NoError(t, err)
		require.True(t, holds)
		before = &found[i]
	}
	altered := found[1]
	altered.Data = json.RawMessage(strings.Replace(string(altered.Data), "note", "vote", 1))
	holds, err := altered.Follows(&found[0])
	require.NoError(t, err)
	require.False(t, holds)
	holds, err = found[1].Follows(nil)
	require.NoError(t, err)
	require.False(t, holds, "the previous event is missing")
}

func TestStats(t *testing.T) {
	t.Parallel()
	store, all := scanned(t)
	c, err := store.Stats(t.Context(), postgres.Filter{})
	require.NoError(t, err)
	require.Equal(t, []int64{6, 2}, []int64{c.Events, c.Streams})
	require.Equal(t, []time.Time{all[0].RecordedAt, all[5].RecordedAt}, []time.Time{*c.First, *c.Last})
	var stored int64
	found, err := store.Scan(t.Context(), postgres.Filter{}, 10, false)
	require.NoError(t, err)
	for _, e := range found {
		stored += int64(len(e.Data) + len(e.Meta))
	}
	require.Equal(t, stored, c.Bytes)
	require.Equal(t, []postgres.Count{{Name: "storetest.noted", Events: 6, Bytes: stored}}, c.Types)
	require.Equal(t, []postgres.Count{{"acct_a_1", 3, stored / 2}, {"acct_b%2", 3, stored / 2}}, c.Accounts)
	var inDays int64
	for _, d := range c.Days { // two days when the test runs at midnight
		inDays += d.Events
	}
	require.Equal(t, int64(6), inDays)

	c, err = store.Stats(t.Context(), postgres.Filter{AccountID: "nobody"})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(postgres.Stats{Types: []postgres.Count{}, Days: []postgres.Count{}, Accounts: []postgres.Count{}}, c))
}
