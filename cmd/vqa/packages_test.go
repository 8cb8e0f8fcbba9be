package main_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goPackage has the fields of "go list -json" that the rules use.
type goPackage struct {
	ImportPath string
	Name       string
	Dir        string
	GoFiles    []string
	Imports    []string
}

func matches(path string, patterns []string) bool {
	for _, p := range patterns {
		if base, deep := strings.CutSuffix(p, "/..."); path == base || (deep && strings.HasPrefix(path, base+"/")) || path == p {
			return true
		}
	}
	return false
}

// inStandardLibrary reports whether path is in the standard library: its first element has no dot and
// is not vqa.
func inStandardLibrary(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return first != "vqa" && !strings.Contains(first, ".")
}

// violations returns the imports of p that the rule forbids.
func (r importRule) violations(p goPackage) []string {
	if !matches(p.ImportPath, r.in) || matches(p.ImportPath, r.except) {
		return nil
	}
	var bad []string
	for _, path := range p.Imports {
		outside := len(r.only) > 0 && !inStandardLibrary(path) && !matches(path, r.only)
		if outside || matches(path, r.never) {
			bad = append(bad, path)
		}
	}
	return bad
}

const root = "../.."

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Name,Dir,GoFiles,Imports", "./...")
	cmd.Dir = root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	var packages []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("read the answer of go list: %v", err)
		}
		packages = append(packages, p)
	}
	require.NotEmpty(t, packages)
	return packages
}

// importers lists the files of p that import path.
func importers(t *testing.T, p goPackage, path string) string {
	t.Helper()
	var files []string
	for _, name := range p.GoFiles {
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		require.NoError(t, err)
		if strings.Contains(string(text), `"`+path+`"`) {
			files = append(files, filepath.Join(strings.TrimPrefix(p.ImportPath, "vqa/"), name))
		}
	}
	return strings.Join(files, ", ")
}
