package command

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/fault"
)

var anonymous = Caller{RequestID: "req_1"}

// claimOf requests a device code and returns it with its hash.
func (w *world) claimOf(addressHash string) (RequestedCodes, string) {
	w.t.Helper()
	requested, err := w.RequestDeviceCode(w.t.Context(), anonymous, addressHash)
	require.NoError(w.t, err)
	return requested, account.HashSecret(requested.DeviceCode)
}

// claimFlow records at least one event of every type of a claim.
func claimFlow(t *testing.T, w *world, caller Caller) {
	t.Helper()
	require.NoError(t, w.EnterUserCode(t.Context(), caller, false))
	for _, decide := range []func(context.Context, Caller, string) error{w.DenyDeviceCode, w.ApproveDeviceCode} {
		requested, err := w.RequestDeviceCode(t.Context(), caller, "address")
		require.NoError(t, err)
		hash := account.HashSecret(requested.DeviceCode)
		require.NoError(t, decide(t.Context(), caller, hash))
		if stateOf(w, deviceCodes, hash).Status == account.DeviceApproved {
			_, err = w.CollectKey(t.Context(), hash, caller.AccountID, "req_1")
			require.NoError(t, err)
		}
	}
}

func TestClaimOfAKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	approver, requester := w.account(0), w.account(0)
	before := len(w.history())

	requested, err := w.RequestDeviceCode(t.Context(), requester, "address")
	require.NoError(t, err)
	require.Equal(t, w.Now().Add(15*time.Minute), requested.ExpiresAt)
	hash := account.HashSecret(requested.DeviceCode)
	d := stateOf(w, deviceCodes, hash)
	require.Equal(t, account.HashSecret(requested.UserCode), d.UserCodeHash)
	require.Equal(t, requester.KeyID, d.RequesterKeyID)

	w.requireUnchanged(func() {
		_, err = w.CollectKey(t.Context(), hash, approver.AccountID, "req_1")
		require.ErrorContains(t, err, "was not approved")
		requireFault(t, w.ApproveDeviceCode(t.Context(), approver, account.HashSecret("another")), fault.ResourceNotFound)
	})
	require.NoError(t, w.ApproveDeviceCode(t.Context(), approver, hash))
	w.requireUnchanged(func() {
		require.NoError(t, w.ApproveDeviceCode(t.Context(), approver, hash), "approving is idempotent")
		requireFault(t, w.ApproveDeviceCode(t.Context(), requester, hash), fault.ResourceConflict)
		requireFault(t, w.DenyDeviceCode(t.Context(), requester, hash), fault.ResourceConflict)
		_, err = w.CollectKey(t.Context(), hash, requester.AccountID, "req_1")
		require.ErrorContains(t, err, "was not approved", "the key belongs to the account that approved")
	})

	key, err := w.CollectKey(t.Context(), hash, approver.AccountID, "req_2")
	require.NoError(t, err)
	require.Regexp(t, `^svc_live_`, key.Secret)
	k := stateOf(w, accounts, approver.AccountID).Keys[key.KeyID]
	require.Equal(t, account.HashSecret(key.Secret), k.SecretHash)
	require.Equal(t, account.Paid, k.Tier)
	require.True(t, k.Livemode())
	require.Nil(t, k.ExpiresAt)
	require.Equal(t, key.KeyID, stateOf(w, deviceCodes, hash).KeyID)
	w.requireUnchanged(func() {
		_, err = w.CollectKey(t.Context(), hash, approver.AccountID, "req_3")
		requireFault(t, err, fault.DeviceCodeExpired)
	})

	recorded := w.history()[before:]
	require.Equal(t, []string{
		"account.key_issued", "claim_address.requested", "device_code.approved", "device_code.consumed", "device_code.requested",
	}, types(recorded))
	data, err := json.Marshal(recorded)
	require.NoError(t, err)
	for _, secret := range []string{requested.DeviceCode, requested.UserCode, account.FormatUserCode(requested.UserCode), key.Secret} {
		require.NotContains(t, string(data), secret, "the log contains no secret")
	}
}

// TestAnApprovedKeyIsCollectedOnce: many simultaneous polls, also on a service with an outdated cache, as on
// another node.
func TestAnApprovedKeyIsCollectedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := newWorld(t, withStore(w.log))
	approver := w.account(0)
	for range 10 {
		_, hash := w.claimOf("address")
		require.NoError(t, w.ApproveDeviceCode(t.Context(), approver, hash))
		var mu sync.Mutex
		var handedOut []IssuedKey
		errs := together(20, func(i int) error {
			service := w.Service
			if i%2 == 1 {
				service = other.Service
			}
			key, err := service.CollectKey(t.Context(), hash, approver.AccountID, "req_1")
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				handedOut = append(handedOut, key)
			}
			return err
		})
		require.Equal(t, map[string]int{"ok": 1, "device_code_expired": 19}, tally(errs))
		require.Contains(t, stateOf(w, accounts, approver.AccountID).Keys, handedOut[0].KeyID)
		require.Equal(t, handedOut[0].KeyID, stateOf(w, deviceCodes, hash).KeyID)
	}
	require.Len(t, stateOf(w, accounts, approver.AccountID).Keys, 11, "one key for each code and the first key")
}

// TestOneDecisionStands: two people approve and deny at the same time.
func TestOneDecisionStands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.account(0), w.account(0)
	for range 20 {
		_, hash := w.claimOf("address")
		errs := together(2, func(i int) error {
			if i == 0 {
				return w.ApproveDeviceCode(t.Context(), one, hash)
			}
			return w.DenyDeviceCode(t.Context(), two, hash)
		})
		d := stateOf(w, deviceCodes, hash)
		if d.Status == account.DeviceApproved {
			require.NoError(t, errs[0])
			requireFault(t, errs[1], fault.ResourceConflict)
			_, err := w.CollectKey(t.Context(), hash, one.AccountID, "req_1")
			require.NoError(t, err)
			continue
		}
		require.Equal(t, account.DeviceDenied, d.Status)
		require.NoError(t, errs[1])
		requireFault(t, errs[0], fault.DeviceCodeExpired)
	}
}

func TestOpenClaimsOfAnAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(0)
	var mu sync.Mutex
	var hashes []string
	request := func(int) error {
		requested, err := w.RequestDeviceCode(t.Context(), anonymous, "address")
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			hashes = append(hashes, account.HashSecret(requested.DeviceCode))
		}
		return err
	}
	require.Equal(t, map[string]int{"ok": 10, "rate_limit_exceeded": 5}, tally(together(15, request)))
	_, err := w.RequestDeviceCode(t.Context(), anonymous, "another address")
	require.NoError(t, err)

	// Denied and collected codes no longer count. An approved code that is not collected counts.
	require.NoError(t, w.ApproveDeviceCode(t.Context(), caller, hashes[0]))
	requireFault(t, request(0), fault.RateLimitExceeded)
	_, err = w.CollectKey(t.Context(), hashes[0], caller.AccountID, "req_1")
	require.NoError(t, err)
	require.NoError(t, w.DenyDeviceCode(t.Context(), caller, hashes[1]))
	require.NoError(t, request(0))
	require.NoError(t, request(0))
	w.requireUnchanged(func() {
		err := request(0)
		requireFault(t, err, fault.RateLimitExceeded)
		require.Equal(t, 15*60+1, fault.Of(err).RetryAfterS)
	})
	w.clock.advance(account.DeviceCodeLife)
	require.NoError(t, request(0))
}

// TestAFullAccountCollectsLater: a key can be collected later, when the account has fewer keys.
func TestAFullAccountCollectsLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	approver := w.account(0)
	_, hash := w.claimOf("address")
	require.NoError(t, w.ApproveDeviceCode(t.Context(), approver, hash))
	spare := ""
	for {
		key, err := w.IssueKey(t.Context(), NewKey{AccountID: approver.AccountID, Mode: account.Live, Operator: "jo"})
		if err != nil {
			requireFault(t, err, fault.ResourceConflict)
			break
		}
		spare = key.KeyID
	}
	w.requireUnchanged(func() {
		_, err := w.CollectKey(t.Context(), hash, approver.AccountID, "req_1")
		requireFault(t, err, fault.ResourceConflict)
	})
	require.NoError(t, w.RevokeKey(t.Context(), approver.AccountID, spare, "jo", ""))
	_, err := w.CollectKey(t.Context(), hash, approver.AccountID, "req_1")
	require.NoError(t, err)
}

func TestCodesNeedEntropy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Entropy = iotest.ErrReader(iotest.ErrTimeout)
	w.requireUnchanged(func() {
		_, err := w.RequestDeviceCode(t.Context(), anonymous, "address")
		require.ErrorIs(t, err, iotest.ErrTimeout)
	})
}
