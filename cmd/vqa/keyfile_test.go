package main

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKeyFileIsMadeOnce lets many readers create the key in an empty folder at once.
func TestKeyFileIsMadeOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	keys := make([][]byte, 8)
	var all sync.WaitGroup
	for i := range keys {
		all.Go(func() {
			key, err := keyFile(dir, ledgerKeyFile)
			if err != nil {
				t.Error(err)
			}
			keys[i] = key
		})
	}
	all.Wait()
	for _, key := range keys {
		require.Len(t, key, keyBytes)
		require.Equal(t, keys[0], key)
	}
	info, err := os.Stat(filepath.Join(dir, ledgerKeyFile))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "no temporary file remains")

	other, err := keyFile(dir, secretKeyFile)
	require.NoError(t, err)
	require.NotEqual(t, keys[0], other)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "short.key"), []byte("short"), 0o600))
	_, err = keyFile(dir, "short.key")
	require.ErrorContains(t, err, "5 bytes instead of 32")
}

// TestWebhookSecretsOutliveTheSecretKey replaces the secret key and keeps the old one beside it.
func TestWebhookSecretsOutliveTheSecretKey(t *testing.T) {
	t.Parallel()
	c := config{DataDir: t.TempDir()}
	key := bytes.Repeat([]byte{1}, keyBytes)
	before, err := webhookVault(c, key)
	require.NoError(t, err)
	sealed := before.Seal([]byte("secret"), "we_1")

	next := bytes.Repeat([]byte{2}, keyBytes)
	without, err := webhookVault(c, next)
	require.NoError(t, err)
	_, err = without.Open(sealed, "we_1")
	require.ErrorContains(t, err, oldSecretKeyFile)

	old := filepath.Join(c.DataDir, oldSecretKeyFile)
	require.NoError(t, os.WriteFile(old, key, 0o600))
	with, err := webhookVault(c, next)
	require.NoError(t, err)
	plain, err := with.Open(sealed, "we_1")
	require.NoError(t, err)
	require.Equal(t, "secret", string(plain))

	require.NoError(t, os.WriteFile(old, []byte("short"), 0o600))
	_, err = webhookVault(c, next)
	require.ErrorContains(t, err, "5 bytes instead of 32")
}
