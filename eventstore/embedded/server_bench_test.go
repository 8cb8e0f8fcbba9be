package embedded

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkStart measures the start of the database for a command: with a running server, and with a server that
// must be started on existing data and stopped again.
func BenchmarkStart(b *testing.B) {
	parent, err := os.MkdirTemp("", "vqa-embedded-") //nolint:usetesting // t.TempDir is in a folder of mode 0700
	require.NoError(b, err)
	require.NoError(b, os.Chmod(parent, 0o755))
	b.Cleanup(func() { require.NoError(b, os.RemoveAll(parent)) })
	opts := Options{Dir: filepath.Join(parent, "postgres")}
	startAndClose := func(b *testing.B) {
		b.Helper()
		s, err := Start(b.Context(), opts)
		require.NoError(b, err)
		require.NoError(b, s.Close(context.Background()))
	}
	startAndClose(b) // creates the cluster
	b.Run("stopped", func(b *testing.B) {
		for b.Loop() {
			startAndClose(b)
		}
	})
	b.Run("running", func(b *testing.B) {
		keeper, err := Start(b.Context(), opts)
		require.NoError(b, err)
		for b.Loop() {
			startAndClose(b)
		}
		require.NoError(b, keeper.Close(context.Background()))
	})
}
