package main

import (
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
