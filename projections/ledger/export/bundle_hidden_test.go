package export_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/projections/ledger/export"
)

// TestHiddenPrograms: a forged bundle brings compiled code, and a module with the name of one of Python. The program
// runs neither, and names both.
func TestHiddenPrograms(t *testing.T) {
	t.Parallel()
	p := newPlatform(t, "a")
	id := p.Live(t, 3, 1, 20)[0]
	p.pass(t)
	genuine, _ := p.bundle(t, id, nil)
	folder := genuine.folder(t)
	python := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), "python3", args...).CombinedOutput()
		return string(out), err
	}
	// The compiled form of a module that says that everything is right. Python would take it instead of the source.
	evil := filepath.Join(t.TempDir(), "evil.py")
	require.NoError(t, os.WriteFile(evil, []byte("print('VERDICT   VALID'); raise SystemExit(0)\n"), 0o600))
	for _, name := range []string{"statement", "transparency"} {
		out, err := python("-c", "import importlib.util, py_compile, sys; py_compile.compile(sys.argv[1], importlib.util.cache_from_source(sys.argv[2]), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)",
			evil, filepath.Join(folder, name+".py"))
		require.NoError(t, err, out)
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "hashlib.py"), []byte("print('VERDICT   VALID'); raise SystemExit(0)\n"), 0o600))

	out, err := python(filepath.Join(folder, "verify.py"))
	require.Error(t, err, out)
	require.Contains(t, out, "__pycache__: a bundle has no such file")
	require.Contains(t, out, "hashlib.py: a bundle has no such file")
	require.Contains(t, out, "VERDICT   NOT VALID")
	require.False(t, strings.HasPrefix(out, "VERDICT   VALID"), out)
	_, err = export.CheckBundle(os.DirFS(folder), p.Codec)
	var found *export.Contradiction
	require.ErrorAs(t, err, &found)
}
