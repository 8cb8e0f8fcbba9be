package httpapi

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
)

// shipped is the changelog that the program serves.
func shipped(t *testing.T) []change {
	t.Helper()
	changes, err := loadChangelog(changelogFile)
	require.NoError(t, err)
	return changes
}

// contractTree is the parsed contract file.
func contractTree(t *testing.T) map[string]any {
	t.Helper()
	var document map[string]any
	require.NoError(t, yaml.Unmarshal(contractFile, &document))
	return document
}

// describedOperation is an operation of the contract file.
type describedOperation struct {
	id string
	// parameters are the references to shared parameters.
	parameters []string
}

// describedOperations reads them by "METHOD path".
func describedOperations(t *testing.T) map[string]describedOperation {
	t.Helper()
	all := map[string]describedOperation{}
	for path, item := range contractTree(t)["paths"].(map[string]any) {
		for method, node := range item.(map[string]any) {
			tree, ok := node.(map[string]any)
			if !ok || tree["operationId"] == nil {
				continue
			}
			op := describedOperation{id: tree["operationId"].(string)}
			list, _ := tree["parameters"].([]any)
			for _, p := range list {
				ref, _ := p.(map[string]any)["$ref"].(string)
				op.parameters = append(op.parameters, ref)
			}
			all[strings.ToUpper(method)+" "+path] = op
		}
	}
	return all
}

// TestChangelogKnowsTheContract: every operation has an entry, and every entry names existing
// operations.
func TestChangelogKnowsTheContract(t *testing.T) {
	t.Parallel()
	changes, operations := shipped(t), describedOperations(t)
	added := map[string]bool{}
	for _, entry := range changes {
		for _, endpoint := range entry.Endpoints {
			require.Contains(t, operations, endpoint, entry.ID)
			added[endpoint] = added[endpoint] || entry.Type == api.Additive
		}
	}
	for endpoint := range operations {
		if strings.HasPrefix(endpoint, http.MethodOptions+" ") || strings.HasSuffix(endpoint, " /claim") {
			continue // preflight requests, and a page that belongs to another entry
		}
		require.True(t, added[endpoint], "no entry adds %s", endpoint)
	}
}

// TestWhatIsDeprecatedIsInTheChangelog finds everything that the contract marks as deprecated.
func TestWhatIsDeprecatedIsInTheChangelog(t *testing.T) {
	t.Parallel()
	changes := shipped(t)
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
				require.Contains(t, words, "`"+name, "%s is deprecated without an entry", name)
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
	look("", contractTree(t))
	require.Greater(t, marked, 5, "the deprecated fields of usage and of streams")
}

func TestNoDateIsAheadOfTheLast(t *testing.T) {
	t.Parallel()
	changes := shipped(t)
	for i := 1; i < len(changes); i++ {
		require.False(t, changes[i].date.After(changes[i-1].date), "newest first")
	}
}

func TestChangelogRefusesIncompleteEntries(t *testing.T) {
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

// TestDeprecationsOfTheChangelog checks the values that the edge gets.
func TestDeprecationsOfTheChangelog(t *testing.T) {
	t.Parallel()
	byID := map[string]edge.Deprecation{}
	for _, d := range deprecated(shipped(t), "https://api.example.com") {
		byID[d.ID] = d
	}
	usage := byID["usage-flat-fields"]
	require.Equal(t, edge.Deprecation{
		ID: "usage-flat-fields", Since: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC), Endpoints: []string{"GET /v1/usage"},
		URL: "https://api.example.com/docs/changelog#usage-flat-fields",
	}, usage)
	require.Contains(t, byID, "results-summary-frames")
	require.Contains(t, byID, edge.DeprecatedLegacyKeys)
	require.Contains(t, byID, edge.DeprecatedModelAliases)
}
