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

func TestUpgradeQuota(t *testing.T) {
	t.Parallel()
	ask := account.GrantUpgrade{AddressHash: "h", AccountID: "acct_1", Limit: 3}
	var q account.UpgradeQuota
	for range 3 {
		events, err := account.DecideUpgradeQuota(q, ask, scenario.Now)
		require.NoError(t, err)
		require.Equal(t, []account.UpgradeGranted{{AddressHash: "h", AccountID: "acct_1", At: scenario.Now}}, events)
		q = account.EvolveUpgradeQuota(q, events[0])
	}
	events, err := account.DecideUpgradeQuota(q, ask, scenario.Now.Add(23*time.Hour))
	require.True(t, fault.Has(err, fault.UpgradeLimitExceeded), "%v", err)
	require.Equal(t, 3601, fault.Of(err).RetryAfterS)
	require.Empty(t, events)
	_, err = account.DecideUpgradeQuota(q, ask, scenario.Now.Add(24*time.Hour))
	require.NoError(t, err)
	q = account.EvolveUpgradeQuota(q, account.UpgradeGranted{At: scenario.Now.Add(24 * time.Hour)})
	require.Len(t, q.GrantedAt, 1, "a time outside the window is dropped")
}

// TestUpgradeDay checks that a day has exactly its limit, and that the announced wait leads
// to the next day.
func TestUpgradeDay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := scenario.Now.Add(time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(t, "now")))
		limit := rapid.IntRange(0, 5).Draw(t, "limit")
		ask := account.GrantUpgrade{AccountID: "acct_1", Limit: limit}
		var d account.UpgradeDay
		for range limit {
			events, err := account.DecideUpgradeDay(d, ask, now)
			require.NoError(t, err)
			d = account.EvolveUpgradeDay(d, events[0])
		}
		events, err := account.DecideUpgradeDay(d, ask, now)
		require.True(t, fault.Has(err, fault.UpgradeLimitExceeded), "%v", err)
		require.Empty(t, events)
		wait := fault.Of(err).RetryAfterS
		require.GreaterOrEqual(t, wait, 1)
		next := now.Add(time.Duration(wait) * time.Second)
		require.Equal(t, now.UTC().AddDate(0, 0, 1).Format(time.DateOnly), account.UpgradeDayOf(next))
		require.Less(t, next.Sub(next.Truncate(24*time.Hour)), time.Second+1, "and not longer")
	})
}

func TestIdentityIsClaimedOnce(t *testing.T) {
	t.Parallel()
	claim := account.ClaimIdentity{Identity: account.Identity{Provider: "forge.example", ID: 7}, AccountID: "acct_1"}
	events, err := account.DecideIdentityClaim(account.IdentityClaim{}, claim, scenario.Now)
	require.NoError(t, err)
	require.Equal(t, []account.IdentityClaimed{{Provider: "forge.example", ProviderAccountID: 7, AccountID: "acct_1", At: scenario.Now}}, events)
	claimed := account.EvolveIdentityClaim(account.IdentityClaim{}, events[0])
	for _, again := range []string{"acct_1", "acct_2"} {
		claim.AccountID = again
		_, err = account.DecideIdentityClaim(claimed, claim, scenario.Now)
		require.True(t, fault.Has(err, fault.ForgeAccountAlreadyUsed), "%v", err)
	}
}
