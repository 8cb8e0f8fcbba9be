package projections_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/video"
	"vqa/handlers/command"
	"vqa/projections"
	"vqa/projections/resources"
)

// shelf is an account with many videos. Several of them share each created_at.
type shelf struct {
	*world
	caller command.Caller
	tenant resources.Tenant
	// newest are all ids in the order of a list.
	newest []string
	// at is the creation time of each video.
	at map[string]time.Time
}

const videosPerInstant = 3

func newShelf(t *testing.T, n int) *shelf {
	t.Helper()
	instant := time.Date(2026, 1, 2, 3, 4, 5, 678_901_000, time.UTC)
	made := 0
	w := newWorldAt(t, func() time.Time { return instant.Add(time.Duration(made/videosPerInstant) * time.Second) })
	s := &shelf{world: w, at: map[string]time.Time{}}
	s.caller = w.caller(t.Context(), t, 1000)
	s.tenant = resources.Tenant{AccountID: s.caller.AccountID, Livemode: true}
	for ; made < n; made++ {
		v, err := w.CreateVideo(t.Context(), s.caller, command.CreateVideo{ContentType: "video/mp4"})
		require.NoError(t, err)
		s.newest = append(s.newest, v.ID)
		s.at[v.ID] = v.CreatedAt
	}
	slices.Reverse(s.newest)
	return s
}

func (s *shelf) page(t *testing.T, status video.Status, p projections.Page) ([]string, bool) {
	t.Helper()
	list, more, err := s.resources.Videos(t.Context(), s.tenant, status, p)
	require.NoError(t, err)
	ids := []string{}
	for _, v := range list {
		ids = append(ids, v.ID)
	}
	return ids, more
}

func TestPagesJoinIntoTheList(t *testing.T) {
	t.Parallel()
	const n = 10
	s := newShelf(t, n)
	for limit := 1; limit <= n+1; limit++ {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			var down []string
			p := projections.Page{Limit: limit}
			for more := true; more; p.StartingAfter = down[len(down)-1] {
				var ids []string
				ids, more = s.page(t, "", p)
				down = append(down, ids...)
				require.Equal(t, len(down) < n, more)
				require.True(t, !more || len(ids) == limit)
			}
			require.Equal(t, s.newest, down)

			up := []string{s.newest[n-1]}
			p = projections.Page{Limit: limit}
			for more := true; more; {
				p.EndingBefore = up[0]
				var ids []string
				ids, more = s.page(t, "", p)
				up = append(slices.Clone(ids), up...)
				require.Equal(t, len(up) < n, more)
			}
			require.Equal(t, s.newest, up)
		})
	}
	past, more := s.page(t, "", projections.Page{Limit: 5, StartingAfter: s.newest[n-1]})
	require.Empty(t, past)
	require.False(t, more)
}

func TestListFilters(t *testing.T) {
	t.Parallel()
	s := newShelf(t, 9)
	ctx := t.Context()
	// All videos of the second instant, with inclusive bounds.
	middle := s.newest[videosPerInstant : 2*videosPerInstant]
	at := s.at[middle[0]]
	ids, more := s.page(t, "", projections.Page{Limit: videosPerInstant, CreatedAfter: &at, CreatedBefore: &at})
	require.Equal(t, middle, ids)
	require.False(t, more)
	ids, more = s.page(t, "", projections.Page{Limit: 1, CreatedAfter: &at, CreatedBefore: &at, StartingAfter: middle[0]})
	require.Equal(t, middle[1:2], ids)
	require.True(t, more)

	_, err := s.CompleteVideo(ctx, s.caller, s.newest[4])
	require.NoError(t, err)
	ids, _ = s.page(t, video.ReadyStatus, projections.Page{Limit: 20})
	require.Equal(t, []string{s.newest[4]}, ids)
	// A cursor stays valid when its row no longer matches the filter, or is deleted.
	ids, _ = s.page(t, video.AwaitingUpload, projections.Page{Limit: 20, StartingAfter: s.newest[4]})
	require.Equal(t, s.newest[5:], ids)
	require.NoError(t, s.DeleteVideo(ctx, s.caller, s.newest[4]))
	ids, _ = s.page(t, "", projections.Page{Limit: 20, EndingBefore: s.newest[4]})
	require.Equal(t, s.newest[:4], ids)
	ids, _ = s.page(t, "", projections.Page{Limit: 20})
	require.NotContains(t, ids, s.newest[4])
	_, err = s.resources.Video(ctx, s.tenant, s.newest[4])
	require.True(t, fault.Has(err, fault.ResourceNotFound))
}

func TestForeignCursor(t *testing.T) {
	t.Parallel()
	s := newShelf(t, 2)
	other := s.world.caller(t.Context(), t, 10)
	foreign, err := s.CreateVideo(t.Context(), other, command.CreateVideo{ContentType: "video/mp4"})
	require.NoError(t, err)
	for _, cursor := range []string{foreign.ID, "video_00000000000000000000000000", "x", s.caller.KeyID} {
		for _, p := range []projections.Page{{Limit: 5, StartingAfter: cursor}, {Limit: 5, EndingBefore: cursor}} {
			_, _, err := s.resources.Videos(t.Context(), s.tenant, "", p)
			require.True(t, fault.Has(err, fault.ResourceNotFound), "%v: %v", p, err)
			_, _, err = s.resources.Analyses(t.Context(), s.tenant, resources.AnalysisFilter{}, p)
			require.True(t, fault.Has(err, fault.ResourceNotFound), "%v: %v", p, err)
			_, _, err = s.ledger.Transactions(t.Context(), s.caller.AccountID, "", p)
			require.True(t, fault.Has(err, fault.ResourceNotFound), "%v: %v", p, err)
		}
	}
	for _, tenant := range []resources.Tenant{{AccountID: other.AccountID, Livemode: true}, {AccountID: s.caller.AccountID}} {
		_, err = s.resources.Video(t.Context(), tenant, s.newest[0])
		require.True(t, fault.Has(err, fault.ResourceNotFound), "%v", tenant)
	}
}

func TestAnalysesListAndQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	c := w.caller(ctx, t, 1000)
	tenant := resources.Tenant{AccountID: c.AccountID, Livemode: true}
	a, b := w.readyVideo(ctx, t, c), w.readyVideo(ctx, t, c)
	var asked []string
	for i := range 6 {
		id, err := w.ask(ctx, c, []string{a, b}[i%2], "Is there a dog?")
		require.NoError(t, err)
		asked = append(asked, id)
	}
	_, err := w.CancelAnalysis(ctx, c, asked[0])
	require.NoError(t, err)
	_, _, err = w.ClaimAnalysis(ctx, command.Run{AccountID: c.AccountID, AnalysisID: asked[1], VideoID: b, Attempt: 1}, "worker")
	require.NoError(t, err)

	list := func(f resources.AnalysisFilter) (ids []string) {
		all, more, err := w.resources.Analyses(ctx, tenant, f, projections.Page{Limit: 100})
		require.NoError(t, err)
		require.False(t, more)
		for _, one := range all {
			ids = append(ids, one.ID)
		}
		return ids
	}
	require.Equal(t, []string{asked[4], asked[2], asked[0]}, list(resources.AnalysisFilter{VideoID: a}))
	require.Equal(t, []string{asked[4], asked[2]}, list(resources.AnalysisFilter{VideoID: a, Status: analysis.Queued}))
	require.Equal(t, []string{asked[1]}, list(resources.AnalysisFilter{Status: analysis.Preparing, Model: "sight-1"}))
	require.Empty(t, list(resources.AnalysisFilter{Model: "other"}))

	positions := map[string]int{}
	all, _, err := w.resources.Analyses(ctx, tenant, resources.AnalysisFilter{}, projections.Page{Limit: 100})
	require.NoError(t, err)
	for _, one := range all {
		if one.QueuePosition != nil {
			positions[one.ID] = *one.QueuePosition
		}
	}
	require.Equal(t, map[string]int{asked[2]: 1, asked[3]: 2, asked[4]: 3, asked[5]: 4}, positions)
	n, err := w.resources.QueuedAnalyses(ctx)
	require.NoError(t, err)
	require.Equal(t, 4, n)
}

func TestTransactionsNewestFirst(t *testing.T) {
	t.Parallel()
	// All transactions have the same time, so their position in the log orders them.
	instant := clock()
	w := newWorldAt(t, func() time.Time { return instant })
	ctx := t.Context()
	c := w.caller(ctx, t, 100)
	for i := range int64(4) {
		_, err := w.GrantCredits(ctx, command.GrantCredits{
			CreditChange: command.CreditChange{AccountID: c.AccountID, Reason: "test", Operator: "test"}, Kind: credit.Purchase, Seconds: i + 1,
		})
		require.NoError(t, err)
	}
	balances := func(kind credit.Kind, p projections.Page) (after []int64, last string, more bool) {
		list, more, err := w.ledger.Transactions(ctx, c.AccountID, kind, p)
		require.NoError(t, err)
		for _, txn := range list {
			after, last = append(after, txn.BalanceAfter), txn.ID
		}
		return after, last, more
	}
	first, cursor, more := balances("", projections.Page{Limit: 2})
	require.Equal(t, []int64{110, 106}, first)
	require.True(t, more)
	rest, last, more := balances("", projections.Page{Limit: 10, StartingAfter: cursor})
	require.Equal(t, []int64{103, 101, 100}, rest)
	require.False(t, more)
	before, _, more := balances("", projections.Page{Limit: 3, EndingBefore: last})
	require.Equal(t, []int64{106, 103, 101}, before)
	require.True(t, more)
	grants, _, _ := balances(credit.SignupGrant, projections.Page{Limit: 10})
	require.Equal(t, []int64{100}, grants)
}
