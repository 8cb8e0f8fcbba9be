package command

import (
	"encoding/json"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/video"
)

func TestIssueSandbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := len(w.history())
	key, err := w.IssueSandbox(t.Context(), Caller{RequestID: "req_1"}, "address")
	require.NoError(t, err)
	require.Equal(t, account.Test, key.Mode)
	require.Regexp(t, `^svc_test_`, key.Secret)
	require.Equal(t, w.Now().Add(7*24*time.Hour), *key.ExpiresAt)

	a := stateOf(w, accounts, key.AccountID)
	require.Equal(t, account.Sandbox, a.Tier)
	require.Equal(t, account.HashSecret(key.Secret), a.Keys[key.KeyID].SecretHash)
	require.Equal(t, key.ExpiresAt, a.Keys[key.KeyID].ExpiresAt)
	v := stateOf(w, videos, key.FixtureVideoID)
	require.Equal(t, video.ReadyStatus, v.Status)
	require.True(t, v.Fixture && !v.Livemode && v.AccountID == key.AccountID)
	require.Empty(t, stateOf(w, credits, key.AccountID), "a sandbox has no credits")

	recorded := w.history()[before:]
	require.Equal(t, []string{"account.key_issued", "account.opened", "sandbox.issued", "video.ready", "video.registered"}, types(recorded))
	for _, r := range recorded {
		require.Equal(t, key.AccountID, r.Meta.AccountID)
		require.Equal(t, "anonymous", r.Meta.Actor)
		data, err := json.Marshal(r)
		require.NoError(t, err)
		require.NotContains(t, string(data), key.Secret, "the log contains no secret")
	}
}

func TestSandboxCap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	errs := together(10, func(int) error {
		_, err := w.IssueSandbox(t.Context(), Caller{RequestID: "req_1"}, "address")
		return err
	})
	require.Equal(t, map[string]int{"ok": 3, "sandbox_limit_exceeded": 7}, tally(errs))
	require.Equal(t, map[string]int{"ok": 10}, tally(together(10, func(int) error {
		_, err := w.IssueSandbox(t.Context(), Caller{RequestID: "req_1"}, "")
		return err
	})), "no address, no cap")
	_, err := w.IssueSandbox(t.Context(), Caller{RequestID: "req_1"}, "another")
	require.NoError(t, err)

	w.clock.advance(account.SandboxWindow - time.Nanosecond)
	w.requireUnchanged(func() {
		_, err = w.IssueSandbox(t.Context(), Caller{RequestID: "req_1"}, "address")
		requireFault(t, err, fault.SandboxLimitExceeded)
		require.Equal(t, 1, fault.Of(err).RetryAfterS)
	})
	w.clock.advance(time.Nanosecond)
	_, err = w.IssueSandbox(t.Context(), Caller{RequestID: "req_1"}, "address")
	require.NoError(t, err)
}

func TestIssueKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	expires := w.Now().Add(time.Hour)
	key, err := w.IssueKey(t.Context(), NewKey{
		Mode: account.Live, Tier: account.FreeGrant, Name: "n", GrantSeconds: 6000, ExpiresAt: &expires, Operator: "jo",
	})
	require.NoError(t, err)
	require.Regexp(t, `^svc_live_`, key.Secret)
	require.Empty(t, key.FixtureVideoID)
	k := stateOf(w, accounts, key.AccountID).Keys[key.KeyID]
	require.Equal(t, account.FreeGrant, k.Tier)
	require.True(t, k.Livemode())
	require.Equal(t, int64(6000), stateOf(w, credits, key.AccountID).SignupGrantSeconds)

	second, err := w.IssueKey(t.Context(), NewKey{AccountID: key.AccountID, Mode: account.Test, Name: "t", Operator: "jo"})
	require.NoError(t, err)
	require.Equal(t, key.AccountID, second.AccountID)
	require.Len(t, stateOf(w, accounts, key.AccountID).Keys, 2)
	require.True(t, stateOf(w, videos, second.FixtureVideoID).Fixture, "a test key has its own fixture")
	require.Equal(t, int64(6000), stateOf(w, credits, key.AccountID).PostedSeconds)

	w.requireUnchanged(func() {
		_, err = w.IssueKey(t.Context(), NewKey{AccountID: "acct_01JNQ3ZC8A0123456789ABCDEF", Mode: account.Test})
		requireFault(t, err, fault.ResourceNotFound)
		_, err = w.IssueKey(t.Context(), NewKey{Mode: account.Live, GrantSeconds: -1})
		requireFault(t, err, fault.ValidationFailed) // and no account is opened without its grant
		w.Entropy = iotest.ErrReader(iotest.ErrTimeout)
		_, err = w.IssueKey(t.Context(), NewKey{Mode: account.Live})
		require.ErrorIs(t, err, iotest.ErrTimeout)
		_, err = w.IssueSandbox(t.Context(), Caller{RequestID: "req_1"}, "address")
		require.ErrorIs(t, err, iotest.ErrTimeout)
	})
}

func TestRevokeKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller, other := w.account(0), w.account(0)
	require.NoError(t, w.RevokeKey(t.Context(), caller.AccountID, caller.KeyID, "jo", ""))
	requireFault(t, stateOf(w, accounts, caller.AccountID).Keys[caller.KeyID].Check(w.Now()), fault.KeyRevoked)
	w.requireUnchanged(func() {
		require.NoError(t, w.RevokeKey(t.Context(), caller.AccountID, caller.KeyID, "jo", ""), "revoking is idempotent")
		requireFault(t, w.RevokeKey(t.Context(), other.AccountID, caller.KeyID, "jo", ""), fault.ResourceNotFound)
		requireFault(t, w.RevokeKey(t.Context(), "acct_01JNQ3ZC8A0123456789ABCDEF", caller.KeyID, "jo", ""), fault.ResourceNotFound)
	})
}
