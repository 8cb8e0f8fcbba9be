package reference

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOpenFindsTheInstalledPackage(t *testing.T) {
	t.Parallel()
	files, err := Open("")
	require.NoError(t, err)
	for _, name := range []string{Script, Style} {
		content, err := fs.ReadFile(files, name)
		require.NoError(t, err)
		require.NotEmpty(t, content, name)
	}
}

func TestOpenNeedsAllFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := Open(dir)
	require.ErrorIs(t, err, errMissing)
	dist := filepath.Join(dir, "node_modules", "swagger-ui-dist")
	require.NoError(t, os.MkdirAll(dist, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dist, Script), []byte("s"), 0o600))
	_, err = Open(dir)
	require.ErrorIs(t, err, errMissing)
	require.NoError(t, os.WriteFile(filepath.Join(dist, Style), []byte("c"), 0o600))
	files, err := Open(dir)
	require.NoError(t, err)
	content, err := fs.ReadFile(files, Style)
	require.NoError(t, err)
	require.Equal(t, "c", string(content))
}
