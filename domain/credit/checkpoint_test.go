package credit_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/internal/scenario"
)

// signer returns a key that is the same in every run of the tests.
func signer(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune(seed)), ed25519.SeedSize)))
}

func public(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

func sealAt(version int64) credit.Seal {
	return credit.Seal{
		Balance: aggregate.Fold(granted(10), held("an_1", 6)), Version: version, Chain: [32]byte{1, 2}, Key: signer('a'),
	}
}

func mustSeal(t *testing.T, s credit.CheckpointState, c credit.Seal, now time.Time) credit.Sealed {
	t.Helper()
	sealed, err := credit.DecideSeal(s, c, now)
	require.NoError(t, err)
	require.Len(t, sealed, 1)
	return sealed[0]
}

func TestSeal(t *testing.T) {
	t.Parallel()
	first := mustSeal(t, credit.CheckpointState{}, sealAt(2), scenario.Now)
	require.Equal(t, credit.Checkpoint{
		AccountID: "acct_1", Number: 1, Version: 2, Chain: "0102" + strings.Repeat("0", 60),
		PostedSeconds: 10, HeldSeconds: 6, AvailableSeconds: 4, Totals: credit.Totals{Grants: 10},
		At: scenario.Now, KeyID: credit.LedgerKeyID(public(signer('a'))),
	}, first.Checkpoint)
	require.True(t, first.Verify(public(signer('a'))))
	require.False(t, first.Verify(public(signer('b'))), "another key")
	require.False(t, first.Verify(nil))

	state := credit.EvolveCheckpoint(credit.CheckpointState{}, first)
	again, err := credit.DecideSeal(state, sealAt(2), scenario.Now)
	require.NoError(t, err)
	require.Empty(t, again, "nothing moved")
	_, err = credit.DecideSeal(state, sealAt(1), scenario.Now)
	require.True(t, fault.Has(err, fault.ResourceConflict), "%v", err)

	second := mustSeal(t, state, sealAt(3), scenario.Now.Add(time.Minute))
	require.Equal(t, int64(2), second.Checkpoint.Number)
	require.Equal(t, first.Checkpoint.Digest(), second.Checkpoint.Previous)
}

// TestSignedBytes fixes the format, because external verifiers depend on it.
func TestSignedBytes(t *testing.T) {
	t.Parallel()
	c := credit.Checkpoint{
		AccountID: "acct_1", Number: 2, Version: 30, Chain: "0102", PostedSeconds: 10, HeldSeconds: 6, AvailableSeconds: 4,
		Totals:   credit.Totals{Grants: 1, CardGrants: 2, Sales: 30, Adjustments: -4, AnalysisUsage: 5, StreamUsage: 6},
		Previous: "ff", At: time.Date(2026, 3, 1, 13, 0, 0, 500_000_000, time.FixedZone("", 3600)), KeyID: "lk_1",
	}
	require.Equal(t, "16:vqa-checkpoint-16:acct_11:22:304:01022:101:61:41:11:22:302:-41:51:62:ff22:2026-03-01T12:00:00.5Z4:lk_1",
		string(c.SignedBytes()))
}

func TestEveryFieldOfACheckpointIsSigned(t *testing.T) {
	t.Parallel()
	key := public(signer('a'))
	for name, alter := range map[string]func(*credit.Checkpoint){
		"account": func(c *credit.Checkpoint) { c.AccountID = "acct_2" }, "number": func(c *credit.Checkpoint) { c.Number++ },
		"version": func(c *credit.Checkpoint) { c.Version++ }, "chain": func(c *credit.Checkpoint) { c.Chain = "00" },
		"posted": func(c *credit.Checkpoint) { c.PostedSeconds++ }, "held": func(c *credit.Checkpoint) { c.HeldSeconds++ },
		"available": func(c *credit.Checkpoint) { c.AvailableSeconds++ }, "grants": func(c *credit.Checkpoint) { c.Totals.Grants++ },
		"card grants": func(c *credit.Checkpoint) { c.Totals.CardGrants++ }, "sales": func(c *credit.Checkpoint) { c.Totals.Sales++ },
		"adjustments": func(c *credit.Checkpoint) { c.Totals.Adjustments++ }, "analyses": func(c *credit.Checkpoint) { c.Totals.AnalysisUsage++ },
		"streams": func(c *credit.Checkpoint) { c.Totals.StreamUsage++ }, "previous": func(c *credit.Checkpoint) { c.Previous = "00" },
		"time": func(c *credit.Checkpoint) { c.At = c.At.Add(time.Microsecond) }, "key": func(c *credit.Checkpoint) { c.KeyID = "lk_0" },
	} {
		sealed := mustSeal(t, credit.CheckpointState{}, sealAt(2), scenario.Now)
		alter(&sealed.Checkpoint)
		require.False(t, sealed.Verify(key), name)
	}
}

func TestLedgerKeys(t *testing.T) {
	t.Parallel()
	key := public(signer('a'))
	added, err := credit.DecideLedgerKey(credit.LedgerKeys{}, credit.AddLedgerKey{Key: key}, scenario.Now)
	require.NoError(t, err)
	require.Len(t, added, 1)
	require.Regexp(t, "^lk_[0-9a-f]{16}$", added[0].KeyID)
	keys := credit.EvolveLedgerKeys(credit.LedgerKeys{}, added[0])
	found, ok := keys.Find(added[0].KeyID)
	require.True(t, ok)
	require.Equal(t, key, found)

	again, err := credit.DecideLedgerKey(keys, credit.AddLedgerKey{Key: key}, scenario.Now)
	require.NoError(t, err)
	require.Empty(t, again)
	_, ok = keys.Find(credit.LedgerKeyID(public(signer('b'))))
	require.False(t, ok)
	altered := credit.EvolveLedgerKeys(credit.LedgerKeys{}, credit.LedgerKeyAdded{KeyID: added[0].KeyID, PublicKey: hex.EncodeToString(key)})
	_, ok = altered.Find(added[0].KeyID)
	require.False(t, ok, "a key with the id of another")
	_, err = credit.DecideLedgerKey(credit.LedgerKeys{}, credit.AddLedgerKey{Key: key[:31]}, scenario.Now)
	require.True(t, fault.Has(err, fault.ValidationFailed), "%v", err)
}
