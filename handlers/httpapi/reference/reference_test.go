package reference_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/handlers/httpapi/reference"
)

func TestOpenFindsTheInstalledPackage(t *testing.T) {
	t.Parallel()
	files, err := reference.Open("")
	require.NoError(t, err)
	for _, name := range []string{reference.Script, reference.Style} {
		content, err := fs.ReadFile(files, name)
		require.NoError(t, err)
		require.NotEmpty(t, content, name)
	}
}

func TestOpenNeedsAllFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := reference.Open(dir)
	require.ErrorIs(t, err, reference.ErrMissing)
	dist := filepath.Join(dir, "node_modules", "swagger-ui-dist")
	require.NoError(t, os.MkdirAll(dist, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dist, reference.Script), []byte("s"), 0o600))
	_, err = reference.Open(dir)
	require.ErrorIs(t, err, reference.ErrMissing)
	require.NoError(t, os.WriteFile(filepath.Join(dist, reference.Style), []byte("c"), 0o600))
	files, err := reference.Open(dir)
	require.NoError(t, err)
	content, err := fs.ReadFile(files, reference.Style)
	require.NoError(t, err)
	require.Equal(t, "c", string(content))
}
