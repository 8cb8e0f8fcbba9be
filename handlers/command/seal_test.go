package command

import (
	"crypto/ed25519"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
)

var ledgerKey = ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", ed25519.SeedSize)))

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
