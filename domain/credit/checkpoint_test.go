package credit_test

import (
	"crypto/ed25519"
	"encoding/base64"
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

// signed returns a checkpoint of a release before the transparency log.
func signed() credit.Sealed {
	c := credit.Checkpoint{
		AccountID: "acct_1", Number: 1, Version: 2, Chain: "0102" + strings.Repeat("0", 60),
		PostedSeconds: 10, HeldSeconds: 6, AvailableSeconds: 4, Totals: credit.Totals{Grants: 10},
		At: scenario.Now, KeyID: credit.LedgerKeyID(public(signer('a'))),
	}
	return credit.Sealed{Checkpoint: c, Signature: base64.StdEncoding.EncodeToString(ed25519.Sign(signer('a'), c.SignedBytes()))}
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
	require.False(t, signed().Verify(public(signer('b'))), "another key")
	require.False(t, signed().Verify(nil))
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
		sealed := signed()
		require.True(t, sealed.Verify(key))
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
