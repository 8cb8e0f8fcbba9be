package pages

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/docs"
)

func TestGuidesBecomePages(t *testing.T) {
	t.Parallel()
	text := "# Begin & go\n\nAt `http://127.0.0.1:8080/v1`, with [the client](../x/README.md) and [here](#two).\n\n## Two\n\n```sh\ncurl '<a>'\n```\n<script>x</script>\n"
	g, err := renderGuide(text, "https://api.example.com")
	require.NoError(t, err)
	require.Equal(t, "Begin & go", g.Title)
	body := string(g.Body)
	require.Contains(t, body, "<code>https://api.example.com/v1</code>")
	require.Contains(t, body, "with the client and")
	require.Contains(t, body, `<h2 id="two">`)
	require.Contains(t, body, "curl '&lt;a&gt;'")
	require.NotContains(t, body, "<script>")
	_, err = renderGuide("no title\n", "")
	require.Error(t, err)
}

func TestQuickstartNamesThisService(t *testing.T) {
	t.Parallel()
	g, err := renderGuide(docs.Quickstart, "https://api.example.com")
	require.NoError(t, err)
	require.Contains(t, string(g.Body), "https://api.example.com/v1")
	require.NotContains(t, string(g.Body), quickstartURL)
	require.NotContains(t, string(g.Body), `href="..`)
}
