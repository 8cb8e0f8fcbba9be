package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/handlers/httpapi/api"
)

// shipped is what the program serves.
func shipped(t *testing.T) ([]change, *contract) {
	t.Helper()
	changes, err := loadChangelog(changelogFile)
	require.NoError(t, err)
	c, err := loadContract()
	require.NoError(t, err)
	return changes, c
}

// TestChangelogKnowsTheContract: each operation came with an entry, and each entry is
// about operations that there are.
func TestChangelogKnowsTheContract(t *testing.T) {
	t.Parallel()
	changes, c := shipped(t)
	added := map[string]bool{}
	for _, entry := range changes {
		for _, endpoint := range entry.Endpoints {
			require.Contains(t, c.operations, endpoint, entry.ID)
			added[endpoint] = added[endpoint] || entry.Type == api.Additive
		}
	}
	for endpoint, op := range c.operations {
		if strings.HasPrefix(endpoint, http.MethodOptions+" ") || op.path == "/claim" {
			continue // what browsers ask by themselves, and the page of an entry
		}
		require.True(t, added[endpoint], "no entry says that %s was added", endpoint)
	}
}

// TestWhatIsDeprecatedIsInTheChangelog finds everything that the contract marks.
func TestWhatIsDeprecatedIsInTheChangelog(t *testing.T) {
	t.Parallel()
	changes, c := shipped(t)
	words := ""
	for _, entry := range changes {
		if entry.Type == api.Deprecation {
			words += entry.Title + entry.Description + entry.Migration
		}
	}
	marked := 0
	var look func(name string, node any)
	look = func(name string, node any) {
		switch node := node.(type) {
		case map[string]any:
			if node["deprecated"] == true {
				marked++
				require.Contains(t, words, "`"+name, "%s is deprecated and no entry says so", name)
			}
			for child, v := range node {
				look(child, v)
			}
		case []any:
			for _, v := range node {
				look(name, v)
			}
		}
	}
	look("", c.document)
	require.Greater(t, marked, 5, "the flat fields of usage and the alias of streams")
}

func TestNoDateIsAheadOfTheLast(t *testing.T) {
	t.Parallel()
	changes, _ := shipped(t)
	for i := 1; i < len(changes); i++ {
		require.False(t, changes[i].date.After(changes[i-1].date), "newest first")
	}
}

func TestChangelogRefusesWhatSaysTooLittle(t *testing.T) {
	t.Parallel()
	const good = "{id: a, date: 2026-01-02, version: '1', type: fix, title: t, description: d}"
	for name, file := range map[string]string{
		"twice":                  "[" + good + "," + good + "]",
		"no id":                  "[{date: 2026-01-02, version: '1', type: fix, title: t, description: d}]",
		"unknown type":           "[{id: a, date: 2026-01-02, version: '1', type: magic, title: t, description: d}]",
		"no date":                "[{id: a, date: soon, version: '1', type: fix, title: t, description: d}]",
		"deprecation, no advice": "[{id: a, date: 2026-01-02, version: '1', type: deprecation, title: t, description: d}]",
		"unknown field":          "[{id: a, date: 2026-01-02, version: '1', type: fix, title: t, description: d, who: me}]",
		"bad sunset":             "[{id: a, date: 2026-01-02, version: '1', type: fix, title: t, description: d, sunset_at: never}]",
	} {
		_, err := loadChangelog([]byte(file))
		require.Error(t, err, name)
	}
	all, err := loadChangelog([]byte("[" + good + ", {id: b, date: 2026-01-03, version: '1', type: fix, title: t, description: d}]"))
	require.NoError(t, err)
	require.Equal(t, "b", all[0].ID, "sorted by date")
}

func TestDeprecationHeaders(t *testing.T) {
	t.Parallel()
	changes, c := shipped(t)
	d, err := newDeprecations(changes, c, "https://api.example.com")
	require.NoError(t, err)

	h := http.Header{}
	d.tellOf(h, c.operations["GET /v1/videos"])
	require.Empty(t, h)
	d.tellOf(h, c.operations["GET /v1/usage"])
	require.Equal(t, "@1795219200", h.Get("Deprecation"), "2026-11-21 in UTC")
	require.Empty(t, h.Get("Sunset"))
	link := `<https://api.example.com/docs/changelog#usage-flat-fields>; rel="deprecation"; type="text/html"`
	require.Equal(t, []string{link}, h.Values("Link"))

	// A legacy key on top: a link more, and the day on which the key ends.
	ends := time.Date(2027, 11, 1, 12, 0, 0, 0, time.FixedZone("", 3600))
	d.tell(h, deprecatedKey, ends)
	d.tell(h, deprecatedKey, ends)
	require.Equal(t, "@1795219200", h.Get("Deprecation"))
	require.Equal(t, "Mon, 01 Nov 2027 11:00:00 GMT", h.Get("Sunset"))
	require.Len(t, h.Values("Link"), 2, "each thing is told once")

	// The earliest dates count.
	older := change{ID: "x", date: time.Unix(1700000000, 0), sunset: time.Unix(1800000000, 0)}
	d.add(h, older)
	require.Equal(t, "@1700000000", h.Get("Deprecation"))
	require.Equal(t, "Fri, 15 Jan 2027 08:00:00 GMT", h.Get("Sunset"))
	// What should be gone already has no date to go.
	h = http.Header{}
	d.tell(h, "results-summary-frames", time.Time{})
	require.NotEmpty(t, h.Get("Deprecation"))
	require.Empty(t, h.Get("Sunset"))
}

func TestDeprecationsMustBeWritten(t *testing.T) {
	t.Parallel()
	changes, c := shipped(t)
	_, err := newDeprecations(nil, c, "")
	require.ErrorContains(t, err, deprecatedKey)
	_, err = newDeprecations(append([]change{{ID: "x", Type: api.Deprecation, Endpoints: []string{"GET /nowhere"}}}, changes...), c, "")
	require.ErrorContains(t, err, "/nowhere")
}

func TestWordsOfEntriesBecomeText(t *testing.T) {
	t.Parallel()
	require.Equal(t, []span{{"use ", false}, {"<b>", true}, {" now", false}}, spans("use `<b>` now"))
	require.Empty(t, spans(""))
	page := httptest.NewRecorder()
	require.NoError(t, changelogPage.ExecuteTemplate(page, "page", map[string]any{"Title": "T", "Changes": []change{{ID: "a", Title: "`<b>`"}}}))
	require.Contains(t, page.Body.String(), "<code>&lt;b&gt;</code>")
}
