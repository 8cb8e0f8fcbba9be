package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// repository is the top folder as seen from this package's tests.
const repository = "../.."

func document(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, path))
	require.NoError(t, err)
	return string(text)
}

// TestEverySettingIsDocumented checks that docs/configuration.md has each variable of config once, in
// the order of its declaration, with its default and a meaning.
func TestEverySettingIsDocumented(t *testing.T) {
	t.Parallel()
	row := regexp.MustCompile("(?m)^\\| `(VQA_[A-Z_]+)` \\| (?:`([^`]*)`)? ?\\| (.*) \\|$")
	var listed [][2]string
	for _, m := range row.FindAllStringSubmatch(document(t, "docs/configuration.md"), -1) {
		require.NotEmpty(t, m[3], "%s has no meaning", m[1])
		listed = append(listed, [2]string{m[1], m[2]})
	}
	var declared [][2]string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[config]()) {
		declared = append(declared, [2]string{f.Tag.Get("env"), f.Tag.Get("envDefault")})
	}
	if diff := cmp.Diff(declared, listed); diff != "" {
		t.Errorf("variables and defaults of config and of docs/configuration.md (-config +document):\n%s", diff)
	}
}

// TestDocumentsNameVariablesThatExist finds variables in documents that were renamed or dropped.
func TestDocumentsNameVariablesThatExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{ // variables of tools and tests
		"VQA_API_KEY": true, "VQA_TEST_DATABASE_URL": true,
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[config]()) {
		known[f.Tag.Get("env")] = true
	}
	for _, path := range documents(t) {
		for _, name := range regexp.MustCompile(`VQA_[A-Z_]+`).FindAllString(document(t, path), -1) {
			if !known[name] {
				t.Errorf("%s names the variable %s, which does not exist", path, name)
			}
		}
	}
}

func TestContributingListsTheTargets(t *testing.T) {
	t.Parallel()
	var offered, listed []string
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+):.*## `).FindAllStringSubmatch(document(t, "Makefile"), -1) {
		offered = append(offered, m[1])
	}
	for _, m := range regexp.MustCompile(`(?m)^  make ([a-z-]+) +[A-Z]`).FindAllStringSubmatch(document(t, "docs/contributing.md"), -1) {
		listed = append(listed, m[1])
	}
	require.NotEmpty(t, offered)
	if diff := cmp.Diff(offered, listed); diff != "" {
		t.Errorf("targets of the Makefile and of docs/contributing.md (-Makefile +document):\n%s", diff)
	}
}

// TestDocumentsNameTestsThatExist finds tests in documents that were renamed or removed. The documents
// name the test that shows a claim.
func TestDocumentsNameTestsThatExist(t *testing.T) {
	t.Parallel()
	written := map[string]bool{}
	declaration := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	err := filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != repository && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range declaration.FindAllStringSubmatch(string(text), -1) {
			written[m[1]] = true
		}
		return err
	})
	require.NoError(t, err)
	for _, path := range documents(t) {
		named := regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w*)").FindAllStringSubmatch(document(t, path), -1)
		if path == "docs/security.md" || path == "docs/architecture.md" {
			require.NotEmpty(t, named, path)
		}
		for _, m := range named {
			if !written[m[1]] {
				t.Errorf("%s names the test %s, which does not exist", path, m[1])
			}
		}
	}
}

// documents returns the README, the changelog and all documents in docs.
func documents(t *testing.T) []string {
	t.Helper()
	all := []string{"README.md", "CHANGELOG.md"}
	found, err := filepath.Glob(filepath.Join(repository, "docs", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, found)
	for _, path := range found {
		all = append(all, filepath.Join("docs", filepath.Base(path)))
	}
	return all
}
