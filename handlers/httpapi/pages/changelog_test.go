package pages

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWordsOfEntriesBecomeText(t *testing.T) {
	t.Parallel()
	require.Equal(t, []span{{"use ", false}, {"<b>", true}, {" now", false}}, spans("use `<b>` now"))
	require.Empty(t, spans(""))
	p, err := New(Options{Changes: []Change{{ID: "a", Title: "`<b>`"}}})
	require.NoError(t, err)
	page, err := p.Changelog()
	require.NoError(t, err)
	require.Contains(t, string(page.HTML), "<code>&lt;b&gt;</code>")
}
