package jobs_test

import (
	"crypto/ed25519"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/credit"
	"vqa/eventstore/fold"
	"vqa/handlers/command"
	"vqa/handlers/jobs"
)

func (w *world) sealer(seed string) *jobs.Sealer {
	return &jobs.Sealer{
		Commands: w.Service, Ledger: w.ledger, Log: w.log,
		Key: ed25519.NewKeyFromSeed([]byte(strings.Repeat(seed, ed25519.SeedSize))),
	}
}

// checkpoints are those of the caller's account, oldest first, each verified with the keys
// of the log.
func (w *world) checkpoints(t *testing.T) []credit.Checkpoint {
	t.Helper()
	keys, err := w.LedgerKeys(t.Context())
	require.NoError(t, err)
	events, err := w.store.LoadAll(t.Context(), fold.Checkpoint.Stream(w.caller.AccountID))
	require.NoError(t, err)
	var all []credit.Checkpoint
	for _, r := range events {
		sealed := r.Event.(credit.Sealed)
		key, known := keys.Find(sealed.Checkpoint.KeyID)
		require.True(t, known, "the key of a checkpoint is published")
		require.True(t, sealed.Verify(key))
		all = append(all, sealed.Checkpoint)
	}
	return all
}

func TestSealerSealsAccountsWithNewEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sealer := w.sealer("a")
	pass := func(want int) {
		t.Helper()
		n, err := sealer.Seal(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	pass(1)
	pass(0)
	// There are more accounts than one append seals. Accounts without credit have no
	// ledger.
	for range 101 {
		_, err := w.IssueKey(t.Context(), command.NewKey{Mode: account.Live, Tier: account.Paid, GrantSeconds: 1, Operator: "test"})
		require.NoError(t, err)
	}
	_, err := w.IssueKey(t.Context(), command.NewKey{Mode: account.Live, Tier: account.Paid, Operator: "test"})
	require.NoError(t, err)
	pass(101)
	w.ask(t, w.readyVideo(t, shortClip))
	sealer = w.sealer("b") // another node
	pass(1)

	all := w.checkpoints(t)
	require.Len(t, all, 2)
	require.NotEqual(t, all[0].KeyID, all[1].KeyID)
	require.Equal(t, all[0].Digest(), all[1].Previous)
	require.EqualValues(t, shortS, all[1].HeldSeconds)
	histories, err := w.store.Load(t.Context(), fold.Credit.Stream(w.caller.AccountID))
	require.NoError(t, err)
	head := histories[fold.Credit.Stream(w.caller.AccountID)]
	require.Equal(t, head.Chain.String(), all[1].Chain)
	require.Equal(t, head.Version, all[1].Version)
}

// TestConcurrentSealers lets nodes with new keys seal at once: together they seal every
// account once.
func TestConcurrentSealers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sealers := []*jobs.Sealer{w.sealer("a"), w.sealer("b"), w.sealer("c")}
	for round := range 3 {
		w.ask(t, w.readyVideo(t, shortClip))
		var all sync.WaitGroup
		for _, s := range sealers {
			all.Go(func() {
				if _, err := s.Seal(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		require.Len(t, w.checkpoints(t), round+1)
	}
}
