package command

import (
	"context"
	"crypto/ed25519"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/fold"
)

var ledgerKey = ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", ed25519.SeedSize)))

// checkpoints returns the checkpoints of an account, oldest first.
func (w *world) checkpoints(accountID string) []credit.Sealed {
	w.t.Helper()
	events, err := w.log.LoadAll(w.t.Context(), fold.Checkpoint.Stream(accountID))
	require.NoError(w.t, err)
	sealed := make([]credit.Sealed, len(events))
	for i, r := range events {
		sealed[i] = r.Event.(credit.Sealed)
	}
	return sealed
}

func (w *world) head(stream eventstore.StreamID) eventstore.History {
	w.t.Helper()
	histories, err := w.log.Load(w.t.Context(), stream)
	require.NoError(w.t, err)
	return histories[stream]
}

func TestSealLedgers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, other, poor := w.account(30), w.account(50), w.account(0)
	videoID := w.readyVideo(one)
	all := []string{one.AccountID, other.AccountID, poor.AccountID}
	seal := func(want int) {
		t.Helper()
		n, err := w.SealLedgers(t.Context(), ledgerKey, all...)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	seal(2) // the third account never had a credit event
	w.requireUnchanged(func() { seal(0) })
	w.queued(one, videoID)
	seal(1)

	sealed := w.checkpoints(one.AccountID)
	require.Len(t, sealed, 2)
	for i, s := range sealed {
		require.True(t, s.Verify(ledgerKey.Public().(ed25519.PublicKey)))
		require.Equal(t, int64(i+1), s.Checkpoint.Number)
	}
	require.Equal(t, sealed[0].Checkpoint.Digest(), sealed[1].Checkpoint.Previous)
	last, head := sealed[1].Checkpoint, w.head(fold.Credit.Stream(one.AccountID))
	require.Equal(t, head.Version, last.Version)
	require.Equal(t, head.Chain.String(), last.Chain)
	require.Equal(t, []int64{30, 10, 20}, []int64{last.PostedSeconds, last.HeldSeconds, last.AvailableSeconds})
	require.Equal(t, credit.Totals{Grants: 30}, last.Totals)
	require.Len(t, w.checkpoints(other.AccountID), 1)
}

// TestSealingAtTheSameMoment: of two processes, one seals and the other gets a conflict.
func TestSealingAtTheSameMoment(t *testing.T) {
	t.Parallel()
	s := &shim{}
	w := newWorld(t, withShim(s))
	caller := w.account(30)
	rival := NewService(w.Dependencies)
	rival.Store = s.Store
	s.beforeAppend = func(ctx context.Context, _ eventstore.Batch) error {
		_, err := rival.SealLedgers(ctx, ledgerKey, caller.AccountID)
		return err
	}
	_, err := w.SealLedgers(t.Context(), ledgerKey, caller.AccountID)
	var conflict *eventstore.ConflictError
	require.True(t, errors.As(err, &conflict), "%v", err)
	require.Len(t, w.checkpoints(caller.AccountID), 1)
}

func TestLedgerKeysAreAddedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	keys, err := w.LedgerKeys(t.Context())
	require.NoError(t, err)
	require.Empty(t, keys.Keys)
	public := ledgerKey.Public().(ed25519.PublicKey)
	for range 2 {
		require.NoError(t, w.AddLedgerKey(t.Context(), public))
	}
	keys, err = w.LedgerKeys(t.Context())
	require.NoError(t, err)
	require.Len(t, keys.Keys, 1)
	found, ok := keys.Find(credit.LedgerKeyID(public))
	require.True(t, ok)
	require.Equal(t, public, found)
}
