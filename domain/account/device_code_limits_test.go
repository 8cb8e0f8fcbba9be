package account_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/internal/scenario"
)

// TestClaimLaw checks that an address never has more open codes than the limit. It is
// refused only at the limit, succeeds after the announced wait, and its state stays
// bounded.
func TestClaimLaw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var a account.ClaimAddress
		expiry, decided := map[string]time.Time{}, map[string]bool{}
		now := scenario.Now
		openNow := func() int {
			n := 0
			for code, end := range expiry {
				if !decided[code] && now.Before(end) {
					n++
				}
			}
			return n
		}
		for i := range rapid.IntRange(1, 60).Draw(t, "asks") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(2*time.Minute)).Draw(t, "pause")))
			if rapid.IntRange(0, 5).Draw(t, "decide one") == 0 && len(a.Held) > 0 {
				decided[rapid.SampledFrom(a.Held).Draw(t, "decided").CodeHash] = true
			}
			var closed []string
			for _, h := range a.Held {
				if decided[h.CodeHash] {
					closed = append(closed, h.CodeHash)
				}
			}
			ask := account.RequestClaim{AddressHash: "h", CodeHash: fmt.Sprint("code", i), Closed: closed}
			events, err := account.DecideClaim(a, ask, now)
			if err != nil {
				require.True(t, fault.Has(err, fault.RateLimitExceeded))
				require.Equal(t, account.MaxOpenClaims, openNow())
				now = now.Add(time.Duration(fault.Of(err).RetryAfterS) * time.Second)
				events, err = account.DecideClaim(a, ask, now)
				require.NoError(t, err, "after the announced wait")
			}
			a = account.EvolveClaimAddress(a, events[0])
			expiry[ask.CodeHash] = now.Add(account.DeviceCodeLife)
			require.LessOrEqual(t, len(a.Held), account.MaxOpenClaims)
			require.LessOrEqual(t, openNow(), account.MaxOpenClaims)
		}
	})
}

func TestClaimsOfAnAddress(t *testing.T) {
	t.Parallel()
	var full account.ClaimAddress
	for i := range account.MaxOpenClaims {
		full = account.EvolveClaimAddress(full, account.ClaimRequested{
			CodeHash: fmt.Sprint(i), At: scenario.Now, ExpiresAt: scenario.Now.Add(account.DeviceCodeLife),
		})
	}
	for name, test := range map[string]struct {
		closed      []string
		after       time.Duration
		retryAfterS int
	}{
		"the eleventh":                    {nil, time.Minute, 14*60 + 1},
		"half a second is rounded up":     {nil, time.Minute + time.Second/2, 14 * 60},
		"a nanosecond before the end":     {nil, account.DeviceCodeLife - 1, 1},
		"at the end":                      {nil, account.DeviceCodeLife, 0},
		"one was decided":                 {[]string{"3"}, 0, 0},
		"a code of others frees no place": {[]string{"x"}, time.Minute, 14*60 + 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := scenario.Now.Add(test.after)
			events, err := account.DecideClaim(full, account.RequestClaim{AddressHash: "h", CodeHash: "new", Closed: test.closed}, now)
			if test.retryAfterS > 0 {
				require.True(t, fault.Has(err, fault.RateLimitExceeded), "%v", err)
				require.Equal(t, test.retryAfterS, fault.Of(err).RetryAfterS)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []account.ClaimRequested{{
				AddressHash: "h", CodeHash: "new", ExpiresAt: now.Add(account.DeviceCodeLife), Closed: test.closed, At: now,
			}}, events)
		})
	}
}

func TestMissedUserCodes(t *testing.T) {
	t.Parallel()
	var g account.ClaimGuesses
	at := scenario.Now
	for range account.MaxMissedCodes {
		events, err := account.DecideUserCode(g, account.EnterUserCode{AccountID: "acct_1"}, at)
		require.NoError(t, err)
		require.Equal(t, []account.UserCodeMissed{{AccountID: "acct_1", At: at}}, events)
		events, err = account.DecideUserCode(g, account.EnterUserCode{AccountID: "acct_1", Known: true}, at)
		require.NoError(t, err)
		require.Empty(t, events, "a right code is not recorded")
		g = account.EvolveGuesses(g, account.UserCodeMissed{AccountID: "acct_1", At: at})
		at = at.Add(time.Second)
	}
	for _, known := range []bool{true, false} {
		_, err := account.DecideUserCode(g, account.EnterUserCode{AccountID: "acct_1", Known: known}, at)
		require.True(t, fault.Has(err, fault.RateLimitExceeded), "a refusal reveals nothing about the code")
		require.Equal(t, 15*60-10+1, fault.Of(err).RetryAfterS)
	}
	events, err := account.DecideUserCode(g, account.EnterUserCode{Known: false}, scenario.Now.Add(account.MissedCodesWindow))
	require.NoError(t, err, "the first miss left the window")
	require.Len(t, events, 1)
	require.Len(t, account.EvolveGuesses(g, events[0]).MissedAt, account.MaxMissedCodes)
	require.Len(t, g.MissedAt, account.MaxMissedCodes, "the earlier state is untouched")
}
