package account_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/internal/scenario"
)

func quotaOf(times ...time.Time) account.SandboxQuota {
	var q account.SandboxQuota
	for _, at := range times {
		q = account.EvolveQuota(q, account.SandboxIssued{AddressHash: "h", AccountID: "acct_1", At: at})
	}
	return q
}

func TestSandboxQuota(t *testing.T) {
	t.Parallel()
	first := scenario.Now
	three := quotaOf(first, first.Add(time.Hour), first.Add(2*time.Hour))
	day := account.SandboxWindow
	for name, test := range map[string]struct {
		quota       account.SandboxQuota
		limit       int
		now         time.Time
		refused     bool
		retryAfterS int
	}{
		"the first":                             {account.SandboxQuota{}, 3, first, false, 0},
		"the third":                             {quotaOf(first, first), 3, first, false, 0},
		"the fourth within the day":             {three, 3, first.Add(3 * time.Hour), true, 21*3600 + 1},
		"a nanosecond before the window opens":  {three, 3, first.Add(day - time.Nanosecond), true, 1},
		"a second before the window opens":      {three, 3, first.Add(day - time.Second), true, 2},
		"exactly a day after the oldest":        {three, 3, first.Add(day), false, 0},
		"the oldest is out, its place is taken": {quotaOf(first, first.Add(day), first.Add(day), first.Add(day)), 3, first.Add(day), true, 24*3600 + 1},
		"the clock was set back":                {three, 3, first.Add(-time.Minute), true, 24*3600 + 61},
		"no sandboxes at all":                   {account.SandboxQuota{}, 0, first, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ask := account.OpenSandbox{AddressHash: "h", AccountID: "acct_9", Limit: test.limit}
			events, err := account.DecideSandbox(test.quota, ask, test.now)
			if test.refused {
				require.True(t, fault.Has(err, fault.SandboxLimitExceeded), "%v", err)
				require.Empty(t, events)
				require.Equal(t, test.retryAfterS, fault.Of(err).RetryAfterS)
				ends := test.now.Add(time.Duration(test.retryAfterS) * time.Second).UTC().Truncate(time.Second).Format(time.RFC3339)
				require.Equal(t, map[string]any{"limit": test.limit, "resets_at": ends}, fault.Of(err).Details)
				require.Contains(t, err.Error(), ends)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []account.SandboxIssued{{AddressHash: "h", AccountID: "acct_9", At: test.now}}, events)
		})
	}
}

// TestSandboxLaw checks that no window of 24 hours has more sandboxes than the limit.
// Waiting as long as the refusal says is enough, and the state drops times outside the
// window.
func TestSandboxLaw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 4).Draw(t, "limit")
		var q account.SandboxQuota
		var all []time.Time
		now := scenario.Now
		for range rapid.IntRange(1, 60).Draw(t, "asks") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(16*time.Hour)).Draw(t, "pause")))
			ask := account.OpenSandbox{AddressHash: "h", Limit: limit}
			events, err := account.DecideSandbox(q, ask, now)
			if err != nil {
				require.True(t, fault.Has(err, fault.SandboxLimitExceeded))
				now = now.Add(time.Duration(fault.Of(err).RetryAfterS) * time.Second)
				events, err = account.DecideSandbox(q, ask, now)
				require.NoError(t, err, "after the announced wait")
			}
			before := len(q.IssuedAt)
			q = account.EvolveQuota(q, events[0])
			require.LessOrEqual(t, len(q.IssuedAt), min(before+1, limit))
			all = append(all, now)
			within := 0
			for _, at := range all {
				if now.Sub(at) < account.SandboxWindow {
					within++
				}
			}
			require.LessOrEqual(t, within, limit)
		}
	})
}

func TestQuotaFoldLeavesTheEarlierState(t *testing.T) {
	t.Parallel()
	q := quotaOf(scenario.Now, scenario.Now.Add(time.Hour))
	one := account.EvolveQuota(q, account.SandboxIssued{At: scenario.Now.Add(2 * time.Hour)})
	two := account.EvolveQuota(q, account.SandboxIssued{At: scenario.Now.Add(3 * time.Hour)})
	require.Len(t, q.IssuedAt, 2)
	require.Equal(t, scenario.Now.Add(2*time.Hour), one.IssuedAt[2])
	require.Equal(t, scenario.Now.Add(3*time.Hour), two.IssuedAt[2])
}
