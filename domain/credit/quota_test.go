package credit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/internal/scenario"
)

// within returns a hold with a quota.
func within(quota int64, source string, seconds int64) credit.Hold {
	h := hold(source, seconds)
	h.QuotaSeconds = quota
	return h
}

func TestQuota(t *testing.T) {
	t.Parallel()
	// 6 seconds were settled this month, and 3 are held.
	used := events{granted(100), held("an_1", 6), settled("an_1", 6, 6, 94), held("an_2", 3)}
	before := settled("an_1", 6, 6, 94)
	before.At = scenario.Now.AddDate(0, 0, -1) // in February
	lastMonth := events{granted(100), held("an_1", 6), before, held("an_2", 3)}
	aggregate.Run(t, cases{
		{Name: "up to the quota", Given: used, When: within(10, "an_3", 1), Then: events{held("an_3", 1)}},
		{Name: "beyond the quota", Given: used, When: within(10, "an_3", 2), Refused: fault.QuotaExceeded},
		{Name: "no quota", Given: used, When: within(0, "an_3", 50), Then: events{held("an_3", 50)}},
		{Name: "work that is not billed", Given: used, When: within(5, "an_3", 0), Then: events{held("an_3", 0)}},
		{Name: "the month is over", Given: lastMonth, When: within(10, "an_3", 7), Then: events{held("an_3", 7)}},
		{Name: "an open hold counts", Given: lastMonth, When: within(10, "an_3", 8), Refused: fault.QuotaExceeded},
		{Name: "the credit check comes first", Given: used, When: within(10, "an_3", 500), Refused: fault.InsufficientCredits},
	})

	_, err := credit.Decide(aggregate.Fold(used...), within(10, "an_3", 2), scenario.Now)
	f := fault.Of(err)
	require.Equal(t, "seconds_processed.period", f.Details["meter"])
	require.Equal(t, int(credit.PeriodEnd(scenario.Now).Sub(scenario.Now)/time.Second), f.RetryAfterS)
}

func TestPeriods(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("east", 3*60*60)
	tests := map[string]struct {
		at         time.Time
		period     credit.Period
		start, end time.Time
	}{
		"the first moment": {
			time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), "2026-12",
			time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
		},
		"the last moment": {
			time.Date(2026, 1, 31, 23, 59, 59, 999, time.UTC), "2026-01",
			time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC),
		},
		"in another zone": {
			time.Date(2026, 3, 1, 2, 0, 0, 0, east), "2026-02",
			time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
		},
	}
	for name, tt := range tests {
		require.Equal(t, tt.period, credit.PeriodOf(tt.at), name)
		require.Equal(t, tt.start, credit.PeriodStart(tt.at), name)
		require.Equal(t, tt.end, credit.PeriodEnd(tt.at), name)
	}
}

func TestDiscounted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		seconds int64
		pct     int
		want    int64
	}{
		{10, 0, 10}, {12, 50, 6}, {13, 50, 6}, {1, 50, 0}, {1, 0, 1}, {1, 100, 0}, {0, 50, 0}, {101, 33, 67}, {credit.MaxSeconds, 50, 1<<52 - 1},
	} {
		require.Equal(t, tt.want, credit.Discounted(tt.seconds, tt.pct), "%d s less %d %%", tt.seconds, tt.pct)
	}
	rapid.Check(t, func(t *rapid.T) {
		seconds, pct := rapid.Int64Range(0, 1<<40).Draw(t, "seconds"), rapid.IntRange(0, 100).Draw(t, "pct")
		got := credit.Discounted(seconds, pct)
		exact := seconds * int64(100-pct)
		require.True(t, got*100 <= exact && (got+1)*100 > exact, "%d is not %d/100 rounded down", got, exact)
	})
}

// by returns a hold that an agent requests.
func by(grantID string, limit int64, source string, seconds int64) credit.Hold {
	h := hold(source, seconds)
	h.GrantID, h.GrantLimitSeconds = grantID, limit
	return h
}

// heldBy is the event of such a hold.
func heldBy(grantID string, limit int64, source string, seconds int64) credit.Held {
	h := held(source, seconds).(credit.Held)
	h.GrantID, h.GrantLimitSeconds = grantID, limit
	return h
}

func TestSpendingLimitOfAnAgent(t *testing.T) {
	t.Parallel()
	// 6 of 10 seconds were settled for the grant, and 3 are held.
	used := events{granted(100), heldBy("grant_1", 10, "an_1", 6), settled("an_1", 6, 6, 94), heldBy("grant_1", 10, "an_2", 3)}
	aggregate.Run(t, cases{
		{Name: "up to the limit", Given: used, When: by("grant_1", 10, "an_3", 1), Then: events{heldBy("grant_1", 10, "an_3", 1)}},
		{Name: "beyond the limit", Given: used, When: by("grant_1", 10, "an_3", 2), Refused: fault.QuotaExceeded},
		{Name: "another agent", Given: used, When: by("grant_2", 10, "an_3", 10), Then: events{heldBy("grant_2", 10, "an_3", 10)}},
		{Name: "no limit", Given: used, When: by("grant_1", 0, "an_3", 50), Then: events{heldBy("grant_1", 0, "an_3", 50)}},
		{Name: "no agent", Given: used, When: hold("an_3", 50), Then: events{held("an_3", 50)}},
		{Name: "free work", Given: used, When: by("grant_1", 5, "an_3", 0), Then: events{heldBy("grant_1", 5, "an_3", 0)}},
		{Name: "the credit check comes first", Given: used, When: by("grant_1", 10, "an_3", 500), Refused: fault.InsufficientCredits},
	})
	state := aggregate.Fold(used...)
	_, err := credit.Decide(state, by("grant_1", 10, "an_3", 2), scenario.Now)
	require.Equal(t, "agent.credit_seconds", fault.Of(err).Details["meter"])
	settledSeconds, heldSeconds := state.SpentBy("grant_1")
	require.EqualValues(t, []int64{6, 3}, []int64{settledSeconds, heldSeconds})
	// The work was longer than its hold. Only the room of the limit is billed beyond it.
	decided, err := credit.Decide(state, credit.Settle{SourceID: "an_2", TransactionID: "txn_9", Seconds: 50}, scenario.Now)
	require.NoError(t, err)
	require.EqualValues(t, 4, decided[0].(credit.Settled).Seconds)
}

// TestAnAgentNeverSpendsMoreThanItsLimit runs random holds and settlements of two agents.
func TestAnAgentNeverSpendsMoreThanItsLimit(t *testing.T) {
	t.Parallel()
	limits := map[string]int64{"grant_1": 40, "grant_2": 7, "": 0}
	rapid.Check(t, func(t *rapid.T) {
		s := aggregate.Fold(granted(1000))
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			source := rapid.SampledFrom([]string{"an_1", "an_2", "an_3"}).Draw(t, "source")
			grantID := rapid.SampledFrom([]string{"grant_1", "grant_2", ""}).Draw(t, "grant")
			seconds := rapid.Int64Range(0, 20).Draw(t, "seconds")
			c := rapid.SampledFrom([]credit.Command{
				by(grantID, limits[grantID], source, seconds), credit.Settle{SourceID: source, Seconds: seconds}, credit.Release{SourceID: source},
			}).Draw(t, "command")
			decided, _ := credit.Decide(s, c, scenario.Now)
			s = aggregate.Step(t, s, decided...)
			for _, id := range []string{"grant_1", "grant_2"} {
				settledSeconds, heldSeconds := s.SpentBy(id)
				require.LessOrEqual(t, settledSeconds+heldSeconds, limits[id])
			}
		}
	})
}
