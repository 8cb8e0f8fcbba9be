package main_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// topLevel lists everything at the top of the repository, besides dotfiles and bin.
var topLevel = []string{
	"cmd", "domain", "eventstore", "projections", "handlers", "streaming", "gpu", "migrations",
	"Makefile", "go.mod", "go.sum", "docs", "README.md", "CHANGELOG.md", "LICENSE",
}

// vagueNames do not say the purpose of a package, so such packages collect unrelated code.
var vagueNames = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base", "lib"}

// maxLines bounds a file to a size that a reader can keep in mind.
const maxLines = 400

func TestTopLevel(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	for _, e := range entries {
		if name := e.Name(); !strings.HasPrefix(name, ".") && name != "bin" && !slices.Contains(topLevel, name) {
			t.Errorf("%s does not belong at the top level: move it into one of the layers", name)
		}
	}
}

func TestPackages(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		if slices.Contains(vagueNames, p.Name) || slices.Contains(vagueNames, filepath.Base(p.ImportPath)) {
			t.Errorf("%s: choose a name that says what the package does", p.ImportPath)
		}
		if len(p.GoFiles) > 0 && !slices.Contains(p.GoFiles, "doc.go") {
			t.Errorf("%s has no doc.go: write one with its purpose, its imports and its guarantees", p.ImportPath)
		}
	}
}

// sources calls visit for each file that is written by hand, with its path below root.
func sources(t *testing.T, visit func(path string, text []byte)) {
	t.Helper()
	count := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			// Skip builds, caches and data.
			if path != root && (strings.HasPrefix(name, ".") && name != ".ci" || name == "node_modules" || name == "testdata" || path == filepath.Join(root, "bin")) {
				return fs.SkipDir
			}
			return nil
		}
		switch filepath.Ext(name) {
		case ".go", ".js", ".mjs", ".py", ".sql", ".sh", "":
		default:
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		count++
		visit(strings.TrimPrefix(path, root+"/"), text)
		return nil
	})
	require.NoError(t, err)
	require.Positive(t, count)
}

func TestFiles(t *testing.T) {
	t.Parallel()
	unfinished := []string{"TO" + "DO", "FIX" + "ME", "XX" + "X:"} // split, so that this file passes
	sources(t, func(path string, text []byte) {
		if path == "LICENSE" || strings.HasSuffix(path, ".gen.go") {
			return
		}
		if lines := bytes.Count(text, []byte("\n")); lines > maxLines {
			t.Errorf("%s has %d lines, more than %d: split it", path, lines, maxLines)
		}
		for _, mark := range unfinished {
			if bytes.Contains(text, []byte(mark)) {
				t.Errorf("%s contains the mark %s: finish the work, or open an issue", path, mark)
			}
		}
	})
}

// TestDomainHasNoClock checks that the domain does not read the clock. The import table cannot check
// this, because the domain may use time.Duration.
func TestDomainHasNoClock(t *testing.T) {
	t.Parallel()
	sources(t, func(path string, text []byte) {
		if !strings.HasPrefix(path, "domain/") || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, use := range clockUses(t, path, text) {
			t.Errorf("%s: pass the time as an argument, so that a replay gives the same result", use)
		}
	})
}

func TestClockIsFound(t *testing.T) {
	t.Parallel()
	const code = `package p
import "time"
func f(d time.Duration) time.Time { time.Sleep(d); return time.Now() }`
	require.Equal(t, []string{"p.go:3: time.Sleep", "p.go:3: time.Now"}, clockUses(t, "p.go", []byte(code)))
}

// clockUses returns the places in a file that read the wall clock or wait for it.
func clockUses(t *testing.T, path string, text []byte) []string {
	t.Helper()
	clock := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
	require.NoError(t, err)
	var uses []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "time" && slices.Contains(clock, sel.Sel.Name) {
			at := files.Position(sel.Pos())
			uses = append(uses, at.Filename+":"+strconv.Itoa(at.Line)+": time."+sel.Sel.Name)
		}
		return true
	})
	return uses
}
