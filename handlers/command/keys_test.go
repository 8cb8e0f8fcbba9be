package command

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/eventstore"
)

// keyOf returns a key of an account from the log.
func keyOf(w *world, caller Caller, keyID string) account.Key {
	w.t.Helper()
	return stateOf(w, accounts, caller.AccountID).Keys[keyID]
}

func TestMintKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(0)
	before := len(w.history())
	minted, err := w.MintKey(t.Context(), caller, "dashboard", []string{"videos:read", "keys:write"})
	require.NoError(t, err)
	require.Regexp(t, `^svc_live_`, minted.Secret)
	require.Equal(t, account.HashSecret(minted.Secret), minted.SecretHash)
	require.Equal(t, account.Paid, minted.Tier)
	require.Equal(t, keyOf(w, caller, minted.ID), minted.Key)
	recorded := w.history()[before:]
	require.Equal(t, []string{"account.key_issued"}, types(recorded))
	data, err := json.Marshal(recorded)
	require.NoError(t, err)
	require.NotContains(t, string(data), minted.Secret, "the log contains no secret")

	narrow := Caller{AccountID: caller.AccountID, KeyID: minted.ID, Livemode: true, RequestID: "req_2"}
	w.requireUnchanged(func() {
		_, err = w.MintKey(t.Context(), narrow, "more", []string{"usage:read"})
		requireFault(t, err, fault.InsufficientScope)
		_, err = w.RotateKey(t.Context(), narrow, caller.KeyID, false)
		requireFault(t, err, fault.InsufficientScope)
		narrow.Livemode = false
		_, err = w.MintKey(t.Context(), narrow, "test", nil)
		requireFault(t, err, fault.ResourceNotFound)
	})

	sandbox, _ := w.sandbox()
	test, err := w.MintKey(t.Context(), sandbox, "second", nil)
	require.NoError(t, err)
	require.Regexp(t, `^svc_test_`, test.Secret)
	require.Equal(t, w.Now().Add(7*24*time.Hour), *test.ExpiresAt)
}

func TestRotateKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller, other := w.account(0), w.account(0)
	next, err := w.RotateKey(t.Context(), caller, caller.KeyID, false)
	require.NoError(t, err)
	require.Equal(t, []string{caller.KeyID, "test"}, []string{next.RotatedFrom, next.Name})
	old := keyOf(w, caller, caller.KeyID)
	require.NoError(t, old.Check(w.Now()))
	requireFault(t, old.Check(w.Now().Add(24*time.Hour)), fault.KeyExpired)
	require.NoError(t, keyOf(w, caller, next.ID).Check(w.Now().Add(1000*24*time.Hour)))

	last, err := w.RotateKey(t.Context(), caller, next.ID, true)
	require.NoError(t, err)
	requireFault(t, keyOf(w, caller, next.ID).Check(w.Now()), fault.KeyRevoked)
	w.requireUnchanged(func() {
		_, err = w.RotateKey(t.Context(), caller, next.ID, false)
		requireFault(t, err, fault.ResourceConflict)
		_, err = w.RotateKey(t.Context(), other, last.ID, true)
		requireFault(t, err, fault.ResourceNotFound)
	})
}

// TestRotateTogether: of simultaneous rotations of a key, also on another node, one succeeds.
func TestRotateTogether(t *testing.T) {
	t.Parallel()
	one := newWorld(t)
	two := newWorld(t, withStore(one.log))
	caller := one.account(0)
	errs := together(16, func(i int) error {
		_, err := []*world{one, two}[i%2].RotateKey(context.Background(), caller, caller.KeyID, false)
		return err
	})
	require.Equal(t, map[string]int{"ok": 1, "resource_conflict": 15}, tally(errs))
	require.Len(t, stateOf(one, accounts, caller.AccountID).Keys, 2)
}

func TestRevokeOwnKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller, other := w.account(0), w.account(0)
	minted, err := w.MintKey(t.Context(), caller, "n", nil)
	require.NoError(t, err)
	w.requireUnchanged(func() {
		requireFault(t, w.RevokeOwnKey(t.Context(), other, minted.ID), fault.ResourceNotFound)
		test := caller
		test.Livemode = false
		requireFault(t, w.RevokeOwnKey(t.Context(), test, minted.ID), fault.ResourceNotFound)
	})
	require.NoError(t, w.RevokeOwnKey(t.Context(), caller, minted.ID))
	requireFault(t, keyOf(w, caller, minted.ID).Check(w.Now()), fault.KeyRevoked)
	w.requireUnchanged(func() {
		require.NoError(t, w.RevokeOwnKey(t.Context(), caller, minted.ID), "revoking is idempotent")
	})
}

func TestRestrictAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(0)
	require.NoError(t, w.RestrictAccount(t.Context(), caller.AccountID, "fraud", "jo", ""))
	requireFault(t, keyOf(w, caller, caller.KeyID).Check(w.Now()), fault.AccountRestricted)
	w.requireUnchanged(func() {
		require.NoError(t, w.RestrictAccount(t.Context(), caller.AccountID, "fraud", "jo", ""))
		requireFault(t, w.RestrictAccount(t.Context(), "acct_01JNQ3ZC8A0123456789ABCDEF", "fraud", "jo", ""), fault.ResourceNotFound)
	})
	require.NoError(t, w.UnrestrictAccount(t.Context(), caller.AccountID, "settled", "jo", ""))
	require.NoError(t, keyOf(w, caller, caller.KeyID).Check(w.Now()))
	last := w.history()[len(w.history())-1]
	require.Equal(t, "operator:jo", last.Meta.Actor)
	require.Equal(t, "settled", last.Event.(account.Unrestricted).Reason)
}

func TestImportKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(0)
	order := LegacyKey{AccountID: caller.AccountID, Name: "old", Secret: "pk_" + strings.Repeat("a", 30), Operator: "jo"}
	keyID, err := w.ImportKey(t.Context(), order)
	require.NoError(t, err)
	k := keyOf(w, caller, keyID)
	require.True(t, k.Legacy && k.Livemode())
	require.Equal(t, account.HashSecret(order.Secret), k.SecretHash)
	w.requireUnchanged(func() {
		_, err = w.ImportKey(t.Context(), order)
		requireFault(t, err, fault.ResourceConflict)
		order.Secret = "svc_live_" + order.Secret
		_, err = w.ImportKey(t.Context(), order)
		requireFault(t, err, fault.ValidationFailed)
	})
	next, err := w.RotateKey(t.Context(), caller, keyID, true)
	require.NoError(t, err)
	require.False(t, next.Legacy)
	require.Regexp(t, `^svc_live_`, next.Secret)
}

// keyFlow records an event of every type of keys and upgrades.
func keyFlow(t *testing.T, w *world, caller Caller) {
	t.Helper()
	minted, err := w.MintKey(t.Context(), caller, "n", nil)
	require.NoError(t, err)
	_, err = w.RotateKey(t.Context(), caller, minted.ID, true)
	require.NoError(t, err)
	w.Identities = &forge{}
	upgraded, err := w.Upgrade(t.Context(), w.sandboxes(1)[0], Upgrade{AddressHash: "address", ForgeToken: "7"})
	require.NoError(t, err)
	require.NoError(t, w.useKey(t.Context(), upgraded.AccountID, upgraded.ID, "req_1"))
	require.NoError(t, w.RestrictAccount(t.Context(), caller.AccountID, "fraud", "jo", ""))
	require.NoError(t, w.UnrestrictAccount(t.Context(), caller.AccountID, "settled", "jo", ""))
}

// uses starts a recorder whose appends can be blocked.
func uses(t *testing.T) (*world, *KeyUses, Caller, func(hold bool), <-chan struct{}) {
	t.Helper()
	var gate sync.Mutex
	appended := make(chan struct{}, 100)
	w := newWorld(t, withShim(&shim{
		beforeAppend: func(context.Context, eventstore.Batch) error { gate.Lock(); defer gate.Unlock(); return nil },
		afterAppend:  func(context.Context, eventstore.Batch) error { appended <- struct{}{}; return nil },
	}))
	caller, _ := w.sandbox()
	upgraded, err := w.Upgrade(t.Context(), caller, Upgrade{AddressHash: "address"})
	require.NoError(t, err)
	caller = Caller{AccountID: caller.AccountID, KeyID: upgraded.ID, Livemode: true, RequestID: "req_9"}
	for len(appended) > 0 {
		<-appended
	}
	recorder := NewKeyUses(w.Service, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { recorder.Run(ctx) })
	t.Cleanup(func() { stop(); work.Wait() })
	hold := func(hold bool) {
		if hold {
			gate.Lock()
		} else {
			gate.Unlock()
		}
	}
	return w, recorder, caller, hold, appended
}

// noted notes the use of a key and waits until it is recorded.
func noted(t *testing.T, recorder *KeyUses, k account.Key, requestID string, appended <-chan struct{}) {
	t.Helper()
	require.Eventually(t, func() bool {
		recorder.Note(k, requestID)
		select {
		case <-appended:
			return true
		default:
			return false
		}
	}, 10*time.Second, time.Millisecond)
}

func TestKeyUses(t *testing.T) {
	t.Parallel()
	w, recorder, caller, _, appended := uses(t)
	first := keyOf(w, caller, caller.KeyID)
	require.Equal(t, w.Now().Add(30*24*time.Hour), *first.ExpiresAt)
	w.clock.advance(10 * 24 * time.Hour)
	noted(t, recorder, first, "req_9", appended)
	used := keyOf(w, caller, caller.KeyID)
	require.Equal(t, w.Now(), *used.LastUsedAt)
	require.Equal(t, w.Now().Add(30*24*time.Hour), *used.ExpiresAt)
	last := w.history()[len(w.history())-1]
	require.Equal(t, []string{"req_9", caller.KeyID}, []string{last.Meta.RequestID, last.Meta.Actor})

	// There is one event in an hour for any number of uses, even with an outdated key.
	w.clock.advance(time.Hour - 1)
	before := len(w.history())
	recorder.Note(used, "req_10")
	require.NoError(t, w.useKey(t.Context(), caller.AccountID, caller.KeyID, "req_10"))
	require.Len(t, w.history(), before)
	w.clock.advance(1)
	noted(t, recorder, used, "req_11", appended)
	require.NoError(t, w.useKey(t.Context(), caller.AccountID, caller.KeyID, "req_12"), "after the queued uses of the recorder")
	require.Len(t, w.history(), before+1)
}

// TestKeyUsesNeverWait: a log that hangs does not delay requests. When the queue is full, the next use is
// recorded instead.
func TestKeyUsesNeverWait(t *testing.T) {
	t.Parallel()
	w, recorder, caller, hold, appended := uses(t)
	k := keyOf(w, caller, caller.KeyID)
	hold(true)
	for i := range 2 * keyUseDepth {
		other := k
		other.ID = strings.Repeat("x", i+1)
		recorder.Note(other, "req_9")
	}
	recorder.Note(k, "req_9") // the queue is full
	hold(false)
	noted(t, recorder, k, "req_10", appended)
	require.Equal(t, w.Now(), *keyOf(w, caller, caller.KeyID).LastUsedAt)
}
