package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestProjectReads holds the whole project to the share of suspect lines that
// docs/style.md allows.
func TestProjectReads(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(t.Context(), &out, "../..", "", 13, 40), "%s", out.String())
	require.Contains(t, out.String(), "Comments (40 of ")
	require.Contains(t, out.String(), "Texts (40 of ")
}

func TestSuspectLinesAreFoundWithTheirPlace(t *testing.T) {
	patterns, err := readPatterns(strings.NewReader("text\n```suspect patterns\n# archaic\n\\banew\\b\n```\n```\nother\n```\n"))
	require.NoError(t, err)
	require.Len(t, patterns, 1)

	src := "package p\n\n// f makes the file.\n// It is made anew.\nfunc f() error { return errors.New(\"write it anew at once, please\") }\n"
	var out strings.Builder
	err = judge(&out, ofGo("p.go", []byte(src)), patterns)
	require.ErrorContains(t, err, "666.7 in 1,000")
	require.Contains(t, out.String(), `p.go:4: "anew": It is made anew.`)
	require.Contains(t, out.String(), `p.go:5: "anew": write it anew at once, please`)

	_, err = readPatterns(strings.NewReader("no block"))
	require.Error(t, err)
}

func TestPassages(t *testing.T) {
	for name, c := range map[string]struct {
		file, src string
		want      []string
	}{
		"SQL":         {"a.sql", "-- One.\n-- Two.\nSELECT 1;\n", []string{"One.\nTwo."}},
		"JavaScript":  {"a.js", "const a = 1\n// Why it is one.\n", []string{"Why it is one."}},
		"document":    {"a.md", "# Title\n\nOne\ntwo.\n\n```\nlisting\n```\n- item\n", []string{"One\ntwo.", "- item"}},
		"description": {"handlers/httpapi/api/a.yaml", "a:\n  description: The id of the video.\n  type: string\n", []string{"The id of the video."}},
		"statements":  {"a.go", "package a\n\nconst q = `SELECT a, b FROM c WHERE d = $1`\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range passagesOf(c.file, []byte(c.src)) {
				got = append(got, p.text)
			}
			require.Equal(t, c.want, got)
		})
	}
}
