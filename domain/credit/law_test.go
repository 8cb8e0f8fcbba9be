package credit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/credit"
	"vqa/domain/internal/scenario"
)

// TestLaws runs random commands and holds the state against a ledger of its own, kept
// from the postings alone.
func TestLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := ledger{open: map[string]int64{}, ended: map[string]bool{}}
		var s credit.State
		for i := range rapid.IntRange(0, 60).Draw(t, "steps") {
			c := command(t, i)
			decided, err := credit.Decide(s, c, scenario.Now.Add(time.Duration(i)*time.Second))
			require.False(t, err != nil && len(decided) > 0, "a refused command leaves nothing behind")
			for _, e := range decided {
				l.post(t, s, e)
			}
			s = aggregate.Step(t, s, decided...)
			l.check(t, s)
		}
	})
}

// command draws a command; step makes the ids of what it creates unique.
func command(t *rapid.T, step int) credit.Command {
	seconds := rapid.OneOf(rapid.Int64Range(-5, 40), rapid.SampledFrom([]int64{-1 << 63, 1<<63 - 1, credit.MaxSeconds, 0}))
	source := rapid.SampledFrom([]string{"an_1", "an_2", "an_3", "an_4", "st_5"}).Draw(t, "source")
	switch rapid.IntRange(0, 5).Draw(t, "command") {
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
		}
	case 3, 4:
		return credit.Settle{SourceID: source, TransactionID: fmt.Sprintf("txn_%d", step), Seconds: seconds.Draw(t, "seconds")}
	default:
		return credit.Release{SourceID: source}
	}
}

// ledger is the model: sums of postings, open holds by id, and which holds ended.
type ledger struct {
	posted, used int64
	open         map[string]int64
	ended        map[string]bool
}

// post books an event that was decided on the state before it.
func (l *ledger) post(t *rapid.T, before credit.State, event credit.Event) {
	switch e := event.(type) {
	case credit.Granted:
		l.posted += e.Seconds
		require.Equal(t, l.posted, e.BalanceAfter)
	case credit.Held:
		require.NotContains(t, l.open, e.HoldID)
		require.False(t, l.ended[e.HoldID], "a hold began again")
		require.GreaterOrEqual(t, e.Seconds, int64(0))
		l.open[e.HoldID] = e.Seconds
	case credit.Settled:
		require.GreaterOrEqual(t, e.Seconds, int64(0))
		require.LessOrEqual(t, e.Seconds, l.open[e.HoldID]+before.AvailableSeconds(), "settled for more than held plus available")
		require.Equal(t, l.open[e.HoldID], e.HeldSeconds)
		l.posted -= e.Seconds
		l.used += e.Seconds
		require.Equal(t, l.posted, e.BalanceAfter)
		l.end(t, e.HoldID)
	case credit.Released:
		require.Equal(t, l.open[e.HoldID], e.Seconds)
		l.end(t, e.HoldID)
	}
}

func (l *ledger) end(t *rapid.T, holdID string) {
	require.Contains(t, l.open, holdID, "a hold ended that was not open")
	delete(l.open, holdID)
	l.ended[holdID] = true
}

// check holds the state against the laws of design and the model.
func (l *ledger) check(t *rapid.T, s credit.State) {
	var heldSeconds int64
	for _, seconds := range l.open {
		heldSeconds += seconds
	}
	require.Equal(t, l.posted, s.PostedSeconds, "balance is the fold of the postings")
	require.Equal(t, l.used, s.UsedSeconds)
	require.Equal(t, heldSeconds, s.HeldSeconds)
	require.Equal(t, l.posted-heldSeconds, s.AvailableSeconds())
	require.GreaterOrEqual(t, s.AvailableSeconds(), int64(0), "available is never negative")
	require.Len(t, s.Holds, len(l.open))
	for _, h := range s.Holds {
		require.Equal(t, l.open[h.ID], h.Seconds)
	}
}
