package command

import (
	"context"
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
