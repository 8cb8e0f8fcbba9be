package docs_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// repository is the top folder as seen from this package's tests.
const repository = ".."

// TestCitationsLeadSomewhere holds every citation such as docs/contract.md#result-3, in any
// text file of the repository, against the documents: file and anchor must exist.
func TestCitationsLeadSomewhere(t *testing.T) {
	t.Parallel()
	citation := regexp.MustCompile(`(?:^|[^\w/.-])(docs/[\w/-]+\.(?:md|sh|json))(?:#([\w-]+))?`)
	known := documents{}
	contract := 0
	err := filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if path != repository && skipped(entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || bytes.IndexByte(text[:min(len(text), 8000)], 0) >= 0 {
			return err
		}
		for number, line := range strings.Split(string(text), "\n") {
			for _, m := range citation.FindAllStringSubmatch(line, -1) {
				if m[1] == "docs/contract.md" {
					contract++
				}
				known.check(t, path, number+1, m[1], m[2])
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.NotZero(t, contract, "nothing cites the contract: the expression no longer matches")
}

// skipped reports whether a folder holds build output, downloads or data of git.
func skipped(folder string) bool {
	return strings.HasPrefix(folder, ".") && folder != ".ci" || folder == "node_modules" || folder == "bin"
}

// TestLinksLeadSomewhere follows every relative link of the documents, and every anchor into
// a document.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]*))?\)`)
	pages, err := filepath.Glob(filepath.Join(repository, "docs", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	pages = append(pages, filepath.Join(repository, "README.md"), filepath.Join(repository, "CHANGELOG.md"))
	known := documents{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for number, line := range strings.Split(string(text), "\n") {
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				if strings.Contains(m[1], "://") {
					continue
				}
				target := page
				if m[1] != "" {
					target = filepath.Join(filepath.Dir(page), m[1])
				}
				target, err := filepath.Rel(repository, target)
				require.NoError(t, err)
				known.check(t, page, number+1, target, m[2])
			}
		}
	}
}

// TestContractListsEveryRule checks that no numbered rule is missing: other files cite them.
func TestContractListsEveryRule(t *testing.T) {
	t.Parallel()
	found, err := documents{}.anchors("docs/contract.md")
	require.NoError(t, err)
	for prefix, last := range map[string]int{"auth": 10, "result": 9, "delivery": 7, "version": 6} {
		for n := 1; n <= last; n++ {
			assert.True(t, found[fmt.Sprintf("%s-%d", prefix, n)], "docs/contract.md lacks the rule %s-%d", prefix, n)
		}
	}
}

// documents keeps the anchors of the pages that were read, by path below the repository.
type documents map[string]map[string]bool

// check fails the test unless target exists and has the anchor, where one is given.
func (d documents) check(t *testing.T, from string, line int, target, anchor string) {
	t.Helper()
	if anchor == "" {
		_, err := os.Stat(filepath.Join(repository, target))
		assert.NoError(t, err, "%s:%d names %s", from, line, target)
		return
	}
	found, err := d.anchors(target)
	if assert.NoError(t, err, "%s:%d names %s", from, line, target) {
		assert.True(t, found[anchor], "%s:%d names #%s, which %s does not have", from, line, anchor, target)
	}
}

var (
	heading     = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	punctuation = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	written     = regexp.MustCompile(`<a id="([^"]+)">`)
)

// anchors returns the anchors of a document: those of GitHub's headings, and those written
// as <a id="…">.
func (d documents) anchors(path string) (map[string]bool, error) {
	if found, ok := d[path]; ok {
		return found, nil
	}
	text, err := os.ReadFile(filepath.Join(repository, path))
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(string(text), -1) {
		name := punctuation.ReplaceAllString(strings.ToLower(m[1]), "")
		found[strings.ReplaceAll(name, " ", "-")] = true
	}
	for _, m := range written.FindAllStringSubmatch(string(text), -1) {
		found[m[1]] = true
	}
	d[path] = found
	return found, nil
}
