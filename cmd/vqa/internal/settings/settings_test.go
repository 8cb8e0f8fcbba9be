package settings

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func TestConfigurationDocumentIsCurrent(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../config.go")
	require.NoError(t, err)
	want, err := Document(source)
	require.NoError(t, err)
	got, err := os.ReadFile("../../../../docs/configuration.md")
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(string(want), string(got)), "docs/configuration.md is stale: run go generate ./cmd/vqa")
}

func TestEveryFieldIsDocumented(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ source, want string }{
		"no struct": {"package p", "has no struct config"},
		"no tags":   {"package p\ntype config struct { A string }", "the field A has no tags"},
		"no help":   {"package p\ntype config struct { A string `group:\"g\" env:\"VQA_A\"` }", "the field A lacks"},
		"no group":  {"package p\ntype config struct { A string `env:\"VQA_A\" help:\"h\"` }", "the field A lacks"},
		"a type without a format": {
			"package p\ntype config struct { A float64 `group:\"g\" env:\"VQA_A\" help:\"h\"` }", "the field A lacks",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Document([]byte(tt.source))
			require.ErrorContains(t, err, tt.want)
		})
	}
	got, err := Document([]byte("package p\ntype config struct { A int `group:\"g\" env:\"VQA_A\" envDefault:\"1\" help:\"a|b <c\"` }"))
	require.NoError(t, err)
	require.Contains(t, string(got), "\n## g\n\n| variable | default | format | meaning |\n|---|---|---|---|\n| `VQA_A` | `1` | whole number | a\\|b &lt;c |\n")
}
