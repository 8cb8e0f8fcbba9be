package pages

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLiveIsCompiledFromItsSource compiles live/*.ts and compares the result with the committed modules.
func TestLiveIsCompiledFromItsSource(t *testing.T) {
	t.Parallel()
	compiler := filepath.Join("..", "clients", "typescript", "node_modules", "typescript", "bin", "tsc")
	require.FileExists(t, compiler, "make test-setup installs it")
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "node", compiler, "-p", "live", "--outDir", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	compiled, err := os.ReadDir(dir)
	require.NoError(t, err)
	committed, err := loadLive()
	require.NoError(t, err)
	require.Len(t, compiled, len(committed), "run `make generate`")
	for _, file := range compiled {
		want, err := os.ReadFile(filepath.Join(dir, file.Name()))
		require.NoError(t, err)
		require.Equal(t, string(want), string(committed[file.Name()].Content), "%s: run `make generate`", file.Name())
	}
}
