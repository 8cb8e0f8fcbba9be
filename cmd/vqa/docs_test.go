package main_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDocumentsNameTestsThatExist: docs/security.md and docs/architecture.md say which test
// shows a claim. A claim whose test was renamed or removed would no longer be shown.
func TestDocumentsNameTestsThatExist(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	defined := testFunctions(t, root)
	named := regexp.MustCompile("`((?:Test|Benchmark|Fuzz)[A-Z]\\w*)")
	for _, file := range []string{"security.md", "architecture.md"} {
		text, err := os.ReadFile(filepath.Join(root, "docs", file))
		require.NoError(t, err)
		names := named.FindAllStringSubmatch(string(text), -1)
		require.NotEmpty(t, names, file)
		for _, name := range names {
			require.True(t, defined[name[1]], "docs/%s names %s, which does not exist", file, name[1])
		}
	}
}

// testFunctions returns the names of all tests, benchmarks and fuzz tests below root.
func testFunctions(t *testing.T, root string) map[string]bool {
	t.Helper()
	function := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)\(`)
	found := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || path != root && strings.HasPrefix(d.Name(), ".") && d.Name() != "..") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, match := range function.FindAllStringSubmatch(string(text), -1) {
			found[match[1]] = true
		}
		return err
	})
	require.NoError(t, err)
	return found
}
