package credit_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/credit"
	"vqa/domain/internal/scenario"
)

// TestLaws runs random commands and compares the state with a ledger that is built from the
// postings alone.
func TestLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := ledger{
			accounts: map[credit.LedgerAccount]int64{}, open: map[string]int64{}, ended: map[string]bool{},
			originals: map[string]credit.Original{}, refunded: map[string]int64{}, worked: map[credit.Period]int64{},
		}
		step := rapid.SampledFrom([]time.Duration{time.Second, 36 * time.Hour}).Draw(t, "step")
		var s credit.State
		for i := range rapid.IntRange(0, 60).Draw(t, "steps") {
			c := l.command(t, i)
			decided, err := credit.Decide(s, c, scenario.Now.Add(time.Duration(i)*step))
			require.False(t, err != nil && len(decided) > 0, "a refused command leaves nothing behind")
			l.checkQuota(t, c, decided)
			for _, e := range decided {
				l.post(t, s, e)
			}
			s = aggregate.Step(t, s, decided...)
			l.check(t, s)
		}
	})
}

// command draws a random command. step makes the ids that it creates unique.
func (l *ledger) command(t *rapid.T, step int) credit.Command {
	seconds := rapid.OneOf(rapid.Int64Range(-5, 40), rapid.SampledFrom([]int64{-1 << 63, 1<<63 - 1, credit.MaxSeconds, 0}))
	source := rapid.SampledFrom([]string{"an_1", "an_2", "an_3", "an_4", "st_5"}).Draw(t, "source")
	switch rapid.IntRange(0, 9).Draw(t, "command") {
	case 9:
		return credit.Extend{
			SourceID: source, Seconds: seconds.Draw(t, "seconds"), ExpiresAt: scenario.Now.Add(time.Hour),
			QuotaSeconds: rapid.SampledFrom([]int64{0, 0, 30, 60}).Draw(t, "quota"),
		}
	case 0:
		kind := rapid.SampledFrom([]credit.Kind{
			credit.SignupGrant, credit.CardGrant, credit.Purchase, credit.Adjustment, credit.Adjustment, credit.AnalysisDebit,
		})
		return credit.Grant{
			AccountID: "acct_1", TransactionID: fmt.Sprintf("txn_%d", step), Kind: kind.Draw(t, "kind"), Seconds: seconds.Draw(t, "seconds"),
		}
	case 1, 2:
		sourceType := credit.SourceAnalysis
		if source == "st_5" {
			sourceType = credit.SourceStream
		}
		return credit.Hold{
			AccountID: "acct_1", HoldID: fmt.Sprintf("hold_%d", step), Seconds: seconds.Draw(t, "seconds"), SourceType: sourceType,
			SourceID: source, DiscountPct: rapid.IntRange(0, 100).Draw(t, "discount"),
			ExpiresAt:    scenario.Now.Add(rapid.SampledFrom([]time.Duration{0, 10 * time.Second, time.Hour}).Draw(t, "expiry")),
			QuotaSeconds: rapid.SampledFrom([]int64{0, 0, 30, 60}).Draw(t, "quota"),
		}
	case 3, 4:
		return credit.Settle{SourceID: source, TransactionID: fmt.Sprintf("txn_%d", step), Seconds: seconds.Draw(t, "seconds")}
	case 5:
		return credit.Release{SourceID: source}
	case 6:
		return credit.Expire{SourceID: source}
	default:
		original := credit.Original{TransactionID: "txn_none", Kind: credit.Purchase}
		if len(l.originals) > 0 {
			id := rapid.SampledFrom(slices.Sorted(maps.Keys(l.originals))).Draw(t, "original")
			original = l.originals[id]
		}
		return credit.Refund{TransactionID: fmt.Sprintf("txn_%d", step), Original: original, Seconds: seconds.Draw(t, "seconds")}
	}
}

// ledger is the model: the balance of each double-entry account, the open holds by id, the
// ended holds, and the refunds of each transaction.
type ledger struct {
	accounts  map[credit.LedgerAccount]int64
	open      map[string]int64
	ended     map[string]bool
	originals map[string]credit.Original
	refunded  map[string]int64
	// worked are the seconds settled in each month.
	worked map[credit.Period]int64
}

// checkQuota compares an accepted hold with its quota, before it is booked.
func (l *ledger) checkQuota(t *rapid.T, c credit.Command, decided []credit.Event) {
	var quota, seconds int64
	switch c := c.(type) {
	case credit.Hold:
		quota, seconds = c.QuotaSeconds, c.Seconds
	case credit.Extend:
		quota, seconds = c.QuotaSeconds, c.Seconds
	}
	if quota == 0 || seconds == 0 || len(decided) == 0 {
		return
	}
	var at time.Time
	switch e := decided[0].(type) {
	case credit.Held:
		at = e.At
	case credit.Extended:
		at = e.At
	}
	require.LessOrEqual(t, l.worked[credit.PeriodOf(at)]+l.accounts["acct_1:held"]+seconds, quota, "held beyond the quota")
}

func (l *ledger) balance() int64 { return l.accounts["acct_1:available"] + l.accounts["acct_1:held"] }

// post books an event that was decided on the given state.
func (l *ledger) post(t *rapid.T, before credit.State, event credit.Event) {
	l.book(t, event)
	if original, ok := credit.TransactionOf(event); ok {
		l.originals[original.TransactionID] = original
	}
	switch e := event.(type) {
	case credit.Granted:
		require.Equal(t, l.balance(), e.BalanceAfter)
	case credit.Held:
		require.NotContains(t, l.open, e.HoldID)
		require.False(t, l.ended[e.HoldID], "a hold started twice")
		require.GreaterOrEqual(t, e.Seconds, int64(0))
		l.open[e.HoldID] = e.Seconds
	case credit.Extended:
		require.Contains(t, l.open, e.HoldID, "a hold that is not open was extended")
		require.Positive(t, e.Seconds)
		l.open[e.HoldID] += e.Seconds
		require.Equal(t, l.open[e.HoldID], e.HeldSeconds)
	case credit.Settled:
		require.GreaterOrEqual(t, e.Seconds, int64(0))
		require.LessOrEqual(t, e.Seconds, l.open[e.HoldID]+before.AvailableSeconds(), "settled for more than held plus available")
		require.Equal(t, l.open[e.HoldID], e.HeldSeconds)
		require.Equal(t, l.balance(), e.BalanceAfter)
		l.worked[credit.PeriodOf(e.At)] += e.Seconds
		l.end(t, e.HoldID)
	case credit.Released:
		require.Equal(t, l.open[e.HoldID], e.Seconds)
		if hold, _ := before.Holds.Get(e.SourceID); e.Reason == credit.ByExpiry {
			require.False(t, e.At.Before(hold.ExpiresAt), "a hold expired before its time")
		}
		l.end(t, e.HoldID)
	case credit.Refunded:
		require.Equal(t, l.balance(), e.BalanceAfter)
		l.refunded[e.Refunds] += max(e.Seconds, -e.Seconds)
		require.LessOrEqual(t, l.refunded[e.Refunds], l.originals[e.Refunds].Seconds, "refunded more than the transaction")
		gives := e.Kind == credit.AnalysisDebit || e.Kind == credit.StreamDebit
		require.Equal(t, gives, e.Seconds > 0, "a refund of a %s moves %d", e.Kind, e.Seconds)
	}
}

// book enters the postings of an event.
func (l *ledger) book(t *rapid.T, event credit.Event) {
	var sum int64
	seen := map[credit.LedgerAccount]bool{}
	for _, p := range credit.Postings(event) {
		require.NotZero(t, p.Seconds)
		require.NotEmpty(t, p.Account)
		require.False(t, seen[p.Account], "%s occurs twice in one entry", p.Account)
		seen[p.Account] = true
		sum += p.Seconds
		l.accounts[p.Account] += p.Seconds
	}
	require.Zero(t, sum, "an entry does not balance")
}

func (l *ledger) end(t *rapid.T, holdID string) {
	require.Contains(t, l.open, holdID, "a hold that was not open has ended")
	delete(l.open, holdID)
	l.ended[holdID] = true
}

// check compares the state with the laws (docs/architecture.md#laws) and with the model.
func (l *ledger) check(t *rapid.T, s credit.State) {
	var heldSeconds int64
	for _, seconds := range l.open {
		heldSeconds += seconds
	}
	require.Equal(t, heldSeconds, s.HeldSeconds)
	require.Equal(t, l.accounts["acct_1:held"], s.HeldSeconds)
	require.Equal(t, l.accounts["acct_1:available"], s.AvailableSeconds(), "balance is the fold of the postings")
	require.GreaterOrEqual(t, s.AvailableSeconds(), int64(0), "available is never negative")
	require.Equal(t, credit.Totals{
		Grants: -l.accounts[credit.PlatformGrants], CardGrants: -l.accounts[credit.PlatformCardGrants],
		Sales: -l.accounts[credit.PlatformSales], Adjustments: -l.accounts[credit.PlatformAdjustments],
		AnalysisUsage: l.accounts[credit.PlatformAnalysisUsage], StreamUsage: l.accounts[credit.PlatformStreamUsage],
	}, s.Totals)
	require.Equal(t, s.Totals.PostedSeconds(), s.PostedSeconds)
	require.Equal(t, s.Totals.AnalysisUsage+s.Totals.StreamUsage, s.UsedSeconds)
	require.Equal(t, len(l.open), s.Holds.Len())
	for h := range s.Holds.All() {
		require.Equal(t, l.open[h.ID], h.Seconds)
	}
	for period, seconds := range l.worked {
		if period == s.Period {
			require.Equal(t, seconds, s.UsedIn(period))
		}
		require.LessOrEqual(t, period, s.Period)
	}
	if len(l.refunded) > 0 {
		require.Equal(t, l.refunded, s.Refunded)
	}
}

// TestHolds compares the set with a map. It also checks that no earlier value ever changes.
func TestHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		model, s := map[string]credit.OpenHold{}, aggregate.Fold(granted(1000))
		type version struct {
			state credit.State
			json  string
		}
		var versions []version
		for i := range rapid.IntRange(0, 40).Draw(t, "steps") {
			source := rapid.StringMatching(`[a-e"é]`).Draw(t, "source")
			if _, open := model[source]; open {
				s = credit.Evolve(s, released(source, 1))
				delete(model, source)
			} else {
				e := held(source, 1).(credit.Held)
				e.DiscountPct = rapid.IntRange(0, 2).Draw(t, "discount")
				e.ExpiresAt = scenario.Now.Add(time.Duration(rapid.IntRange(0, 100).Draw(t, "expiry")) * time.Second)
				s = credit.Evolve(s, e)
				model[source] = credit.OpenHold{
					ID: "hold_" + source, Seconds: 1, SourceType: credit.SourceAnalysis, SourceID: source, DiscountPct: e.DiscountPct,
					CreatedAt: e.At, ExpiresAt: e.ExpiresAt,
				}
			}
			asMap, err := json.Marshal(model)
			require.NoError(t, err)
			own, err := json.Marshal(s.Holds)
			require.NoError(t, err)
			require.Equal(t, string(asMap), string(own), "step %d", i)
			versions = append(versions, version{s, string(own)})
		}
		next := time.Time{}
		for _, h := range model {
			if next.IsZero() || h.ExpiresAt.Before(next) {
				next = h.ExpiresAt
			}
		}
		require.Equal(t, next, s.Holds.NextExpiry())
		for _, v := range versions {
			own, err := json.Marshal(v.state.Holds)
			require.NoError(t, err)
			require.Equal(t, v.json, string(own), "an earlier value changed")
			var back credit.Holds
			require.NoError(t, json.Unmarshal(own, &back))
			require.True(t, back.Equal(v.state.Holds))
		}
	})
	var h credit.Holds
	require.Error(t, json.Unmarshal([]byte(`{"an_1":{"source_id":"an_2"}}`), &h))
	require.Error(t, json.Unmarshal([]byte(`{"an_1":null}`), &h))
}
