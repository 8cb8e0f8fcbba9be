package credit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/internal/scenario"
)

var aggregate = scenario.Aggregate[credit.State, credit.Command, credit.Event]{
	Decide: credit.Decide, Evolve: credit.Evolve,
}

// later is when the holds of these tests expire.
var later = scenario.Now.Add(24 * time.Hour)

func granted(seconds int64) credit.Event {
	return credit.Granted{AccountID: "acct_1", TransactionID: "txn_0", Kind: credit.SignupGrant, Seconds: seconds, BalanceAfter: seconds, At: scenario.Now}
}

func held(source string, seconds int64) credit.Event {
	return credit.Held{
		AccountID: "acct_1", HoldID: "hold_" + source, Seconds: seconds, SourceType: credit.SourceAnalysis, SourceID: source,
		ExpiresAt: later, At: scenario.Now,
	}
}

// due returns a hold that expires at the moment of the decision.
func due(source string, seconds int64) credit.Event {
	e := held(source, seconds).(credit.Held)
	e.ExpiresAt = scenario.Now
	return e
}

func settled(source string, heldSeconds, seconds, balance int64) credit.Settled {
	return credit.Settled{
		AccountID: "acct_1", HoldID: "hold_" + source, TransactionID: "txn_1", Kind: credit.AnalysisDebit,
		SourceType: credit.SourceAnalysis, SourceID: source, Seconds: seconds, HeldSeconds: heldSeconds,
		BalanceAfter: balance, At: scenario.Now,
	}
}

func hold(source string, seconds int64) credit.Hold {
	return credit.Hold{AccountID: "acct_1", HoldID: "hold_" + source, Seconds: seconds, SourceType: credit.SourceAnalysis, SourceID: source, ExpiresAt: later}
}

func settle(source string, seconds int64) credit.Settle {
	return credit.Settle{SourceID: source, TransactionID: "txn_1", Seconds: seconds}
}

func released(source string, seconds int64) credit.Released {
	return credit.Released{
		AccountID: "acct_1", HoldID: "hold_" + source, SourceType: credit.SourceAnalysis, SourceID: source, Seconds: seconds,
		Reason: credit.ByCommand, At: scenario.Now,
	}
}

func expired(source string, seconds int64) credit.Released {
	e := released(source, seconds)
	e.Reason = credit.ByExpiry
	return e
}

func expire(source string) credit.Expire { return credit.Expire{SourceID: source} }

func grant(kind credit.Kind, seconds int64) credit.Grant {
	return credit.Grant{AccountID: "acct_1", TransactionID: "txn_0", Kind: kind, Seconds: seconds}
}

type (
	events = []credit.Event
	cases  = []scenario.Case[credit.Command, credit.Event]
)

func TestGrant(t *testing.T) {
	t.Parallel()
	posted := func(kind credit.Kind, seconds, balance int64) events {
		return events{credit.Granted{
			AccountID: "acct_1", TransactionID: "txn_0", Kind: kind, Seconds: seconds, BalanceAfter: balance, At: scenario.Now,
		}}
	}
	full := events{granted(credit.MaxSeconds - 1)}
	aggregate.Run(t, cases{
		{Name: "signup", When: grant(credit.SignupGrant, 6000), Then: posted(credit.SignupGrant, 6000, 6000)},
		{Name: "card", Given: events{granted(10)}, When: grant(credit.CardGrant, 1), Then: posted(credit.CardGrant, 1, 11)},
		{Name: "purchase", Given: events{granted(10)}, When: grant(credit.Purchase, 5), Then: posted(credit.Purchase, 5, 15)},
		{Name: "no signup of 0", When: grant(credit.SignupGrant, 0), Refused: fault.ValidationFailed},
		{Name: "no card grant of -1", When: grant(credit.CardGrant, -1), Refused: fault.ValidationFailed},
		{Name: "no purchase of 0", When: grant(credit.Purchase, 0), Refused: fault.ValidationFailed},
		{Name: "no adjustment of 0", When: grant(credit.Adjustment, 0), Refused: fault.ValidationFailed},
		{Name: "adjustment up", When: grant(credit.Adjustment, 7), Then: posted(credit.Adjustment, 7, 7)},
		{Name: "adjustment down to 0", Given: events{granted(10)}, When: grant(credit.Adjustment, -10), Then: posted(credit.Adjustment, -10, 0)},
		{Name: "adjustment below 0", Given: events{granted(10)}, When: grant(credit.Adjustment, -11), Refused: fault.InsufficientCredits},
		{
			Name: "adjustment into held seconds", Given: events{granted(10), held("an_1", 4)}, When: grant(credit.Adjustment, -7),
			Refused: fault.InsufficientCredits,
		},
		{
			Name: "adjustment down to the held seconds", Given: events{granted(10), held("an_1", 4)}, When: grant(credit.Adjustment, -6),
			Then: posted(credit.Adjustment, -6, 4),
		},
		{Name: "a debit is not granted", When: grant(credit.AnalysisDebit, 5), Refused: fault.ValidationFailed},
		{Name: "an unknown kind", When: grant("gift", 5), Refused: fault.ValidationFailed},
		{Name: "up to the largest balance", Given: full, When: grant(credit.Purchase, 1), Then: posted(credit.Purchase, 1, credit.MaxSeconds)},
		{Name: "beyond the largest balance", Given: full, When: grant(credit.Purchase, 2), Refused: fault.ValidationFailed},
		{Name: "no overflow", Given: full, When: grant(credit.Purchase, 1<<63-1), Refused: fault.ValidationFailed},
		{Name: "no underflow", Given: full, When: grant(credit.Adjustment, -1<<63), Refused: fault.ValidationFailed},
	})
}

func TestHold(t *testing.T) {
	t.Parallel()
	aggregate.Run(t, cases{
		{Name: "within the balance", Given: events{granted(10)}, When: hold("an_1", 9), Then: events{held("an_1", 9)}},
		{Name: "the whole balance", Given: events{granted(10)}, When: hold("an_1", 10), Then: events{held("an_1", 10)}},
		{Name: "one too many", Given: events{granted(10)}, When: hold("an_1", 11), Refused: fault.InsufficientCredits},
		{Name: "of nothing", When: hold("an_1", 1), Refused: fault.InsufficientCredits},
		{Name: "0 of nothing", When: hold("an_1", 0), Then: events{held("an_1", 0)}},
		{Name: "negative", Given: events{granted(10)}, When: hold("an_1", -1), Refused: fault.ValidationFailed},
		{
			Name: "the rest beside another hold", Given: events{granted(10), held("an_1", 6)}, When: hold("an_2", 4),
			Then: events{held("an_2", 4)},
		},
		{
			Name: "more than the rest beside another hold", Given: events{granted(10), held("an_1", 6)}, When: hold("an_2", 5),
			Refused: fault.InsufficientCredits,
		},
		{
			Name: "after a release", Given: events{granted(10), held("an_1", 6), released("an_1", 6)},
			When: hold("an_2", 10), Then: events{held("an_2", 10)},
		},
		{
			Name: "more than the rest after a debit", Given: events{granted(10), held("an_1", 6), settled("an_1", 6, 6, 4)},
			When: hold("an_2", 5), Refused: fault.InsufficientCredits,
		},
		{Name: "the same source again", Given: events{granted(10), held("an_1", 6)}, When: hold("an_1", 6), Then: nil},
	})
}

func extend(source string, seconds int64) credit.Extend {
	return credit.Extend{SourceID: source, Seconds: seconds, ExpiresAt: later}
}

func TestExtend(t *testing.T) {
	t.Parallel()
	open := events{granted(10), held("an_1", 6)}
	extended := func(seconds, total int64) credit.Extended {
		return credit.Extended{
			AccountID: "acct_1", HoldID: "hold_an_1", SourceType: credit.SourceAnalysis, SourceID: "an_1", Seconds: seconds, HeldSeconds: total,
			ExpiresAt: later, At: scenario.Now,
		}
	}
	inQuota := func(seconds int64) credit.Extend {
		c := extend("an_1", seconds)
		c.QuotaSeconds = 8
		return c
	}
	aggregate.Run(t, cases{
		{Name: "a slice", Given: open, When: extend("an_1", 2), Then: events{extended(2, 8)}},
		{Name: "all that is available", Given: append(open[:2:2], extended(2, 8)), When: extend("an_1", 2), Then: events{extended(2, 10)}},
		{Name: "more than is available", Given: append(open[:2:2], extended(2, 8)), When: extend("an_1", 3), Refused: fault.InsufficientCredits},
		{Name: "nothing", Given: open, When: extend("an_1", 0), Refused: fault.ValidationFailed},
		{Name: "less", Given: open, When: extend("an_1", -1), Refused: fault.ValidationFailed},
		{Name: "up to the quota", Given: open, When: inQuota(2), Then: events{extended(2, 8)}},
		{Name: "beyond the quota", Given: open, When: inQuota(3), Refused: fault.QuotaExceeded},
		{Name: "settled in one", Given: append(open[:2:2], extended(2, 8)), When: settle("an_1", 7), Then: events{settled("an_1", 8, 7, 3)}},
		{Name: "expires later", Given: events{granted(10), due("an_1", 6), extended(2, 8)}, When: expire("an_1"), Refused: fault.ResourceConflict},
	})
}

func TestInsufficientCreditsNamesTheMissingSeconds(t *testing.T) {
	t.Parallel()
	_, err := credit.Decide(aggregate.Fold(granted(10), held("an_1", 6)), hold("an_2", 5), scenario.Now)
	require.Equal(t, map[string]any{
		"meter": "credit_seconds", "needed_seconds": int64(5), "available_seconds": int64(4),
	}, fault.Of(err).Details)
	require.Contains(t, fault.Of(err).Message, "vqa credits grant acct_1 6000 --reason")
}

func TestSettleAndRelease(t *testing.T) {
	t.Parallel()
	open := events{granted(10), held("an_1", 6)}
	stream := credit.Held{
		AccountID: "acct_1", HoldID: "hold_st_1", Seconds: 4, SourceType: credit.SourceStream, SourceID: "st_1", DiscountPct: 50,
		ExpiresAt: later, At: scenario.Now,
	}
	aggregate.Run(t, cases{
		{Name: "exactly the held seconds", Given: open, When: settle("an_1", 6), Then: events{settled("an_1", 6, 6, 4)}},
		{Name: "less", Given: open, When: settle("an_1", 1), Then: events{settled("an_1", 6, 1, 9)}},
		{Name: "nothing", Given: open, When: settle("an_1", 0), Then: events{settled("an_1", 6, 0, 10)}},
		{Name: "more, from what is available", Given: open, When: settle("an_1", 9), Then: events{settled("an_1", 6, 9, 1)}},
		{Name: "more than held and available", Given: open, When: settle("an_1", 11), Then: events{settled("an_1", 6, 10, 0)}},
		{
			Name: "with another hold open", Given: append(open[:2:2], held("an_2", 3)), When: settle("an_1", 1<<63-1),
			Then: events{settled("an_1", 6, 7, 3)},
		},
		{Name: "negative", Given: open, When: settle("an_1", -1), Refused: fault.ValidationFailed},
		{Name: "without a hold", Given: events{granted(10)}, When: settle("an_1", 1), Refused: fault.ResourceConflict},
		{Name: "of another source", Given: open, When: settle("an_2", 1), Refused: fault.ResourceConflict},
		{
			Name: "twice", Given: append(open[:2:2], settled("an_1", 6, 6, 4)), When: settle("an_1", 6),
			Refused: fault.ResourceConflict,
		},
		{
			Name: "a stream, with its discount", Given: events{granted(10), stream}, When: settle("st_1", 3),
			Then: events{credit.Settled{
				AccountID: "acct_1", HoldID: "hold_st_1", TransactionID: "txn_1", Kind: credit.StreamDebit,
				SourceType: credit.SourceStream, SourceID: "st_1", Seconds: 1, HeldSeconds: 4, DiscountPct: 50,
				BalanceAfter: 9, At: scenario.Now,
			}},
		},
		{Name: "release", Given: open, When: credit.Release{SourceID: "an_1"}, Then: events{released("an_1", 6)}},
		{
			Name: "release after settle", Given: append(open[:2:2], settled("an_1", 6, 6, 4)),
			When: credit.Release{SourceID: "an_1"}, Refused: fault.ResourceConflict,
		},
		{
			Name: "settle after the expiry, before the sweep", Given: events{granted(10), due("an_1", 6)}, When: settle("an_1", 6),
			Then: events{settled("an_1", 6, 6, 4)},
		},
		{
			Name: "settle after the sweep", Given: events{granted(10), due("an_1", 6), expired("an_1", 6)}, When: settle("an_1", 6),
			Refused: fault.ResourceConflict,
		},
		{Name: "expire", Given: events{granted(10), due("an_1", 6)}, When: expire("an_1"), Then: events{expired("an_1", 6)}},
		{Name: "expire too early", Given: open, When: expire("an_1"), Refused: fault.ResourceConflict},
		{Name: "expire another source", Given: open, When: expire("an_2"), Refused: fault.ResourceConflict},
		{
			Name: "settle after release", Given: append(open[:2:2], released("an_1", 6)), When: settle("an_1", 6),
			Refused: fault.ResourceConflict,
		},
	})
}

func TestStateTable(t *testing.T) {
	t.Parallel()
	given := map[string]events{
		"(none)": {granted(10)}, "open": {granted(10), held("an_1", 6)}, "expired": {granted(10), due("an_1", 6)},
		"settled":  {granted(10), held("an_1", 6), settled("an_1", 6, 6, 4)},
		"released": {granted(10), held("an_1", 6), released("an_1", 6)},
		"swept":    {granted(10), due("an_1", 6), expired("an_1", 6)},
	}
	when := map[string]credit.Command{
		"Hold": hold("an_1", 2), "Extend": extend("an_1", 2), "Settle": settle("an_1", 2), "Release": credit.Release{SourceID: "an_1"}, "Expire": expire("an_1"),
	}
	commands := []string{"Hold", "Extend", "Settle", "Release", "Expire"}
	scenario.ReadTable(t, "hold").Check(t, []string{"(none)", "open", "expired"}, commands,
		func(t *testing.T, state, command string) (string, string) {
			s := aggregate.Fold(given[state]...)
			decided, err := credit.Decide(s, when[command], scenario.Now)
			_, open := aggregate.Step(t, s, decided...).Holds.Get("an_1")
			next := state
			switch {
			case open && (state == "(none)" || command == "Extend"):
				next = "open"
			case !open && state != "(none)":
				next = "ended"
			}
			return next, scenario.Outcome(decided, err)
		})
	for _, ended := range []string{"settled", "released", "swept"} {
		for _, command := range commands[1:] {
			t.Run(ended+" --"+command+"--> "+ended, func(t *testing.T) {
				_, err := credit.Decide(aggregate.Fold(given[ended]...), when[command], scenario.Now)
				require.True(t, fault.Has(err, fault.ResourceConflict), "%v", err)
			})
		}
	}
}

func TestOpenHoldsCountsOneSource(t *testing.T) {
	t.Parallel()
	s := aggregate.Fold(granted(10), held("an_1", 0), held("an_2", 1), credit.Held{SourceType: credit.SourceStream, SourceID: "st_1"})
	require.Equal(t, 2, s.OpenHolds(credit.SourceAnalysis))
	require.Equal(t, 1, s.OpenHolds(credit.SourceStream))
}

func TestUnknownCommandAndEventPanic(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { _, _ = credit.Decide(credit.State{}, nil, scenario.Now) })
	require.Panics(t, func() { credit.Evolve(credit.State{}, nil) })
}
