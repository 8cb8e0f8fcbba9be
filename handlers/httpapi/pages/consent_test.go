package pages_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/handlers/httpapi/pages"
)

// TestTheWayBackToAProgram: html/template replaces addresses of other schemes than http, https and mailto.
func TestTheWayBackToAProgram(t *testing.T) {
	t.Parallel()
	for _, back := range []string{"https://client.example/cb?error=x", "http://127.0.0.1:9/cb?error=x", "cursor://anysphere.cursor-mcp/cb?error=x"} {
		p, err := pages.ConsentPage(pages.Consent{Problem: "The only scope is mcp.", BackURL: back})
		require.NoError(t, err)
		require.Contains(t, string(p.HTML), `<a href="`+back+`" rel="noreferrer">`)
	}
	p, err := pages.ConsentPage(pages.Consent{Problem: "x", BackURL: `cursor://a/"><script>`})
	require.NoError(t, err)
	require.NotContains(t, string(p.HTML), "<script>")
}
