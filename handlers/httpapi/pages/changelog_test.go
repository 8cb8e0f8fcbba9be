package pages

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChangelogTextIsEscaped(t *testing.T) {
	t.Parallel()
	require.Equal(t, []Fragment{{"use ", false}, {"<b>", true}, {" now", false}}, fragments("use `<b>` now"))
	require.Empty(t, fragments(""))
	p, err := New(Options{Changes: []Change{{ID: "a", Title: "`<b>`"}}})
	require.NoError(t, err)
	page, err := p.Changelog()
	require.NoError(t, err)
	require.Contains(t, string(page.HTML), "<code>&lt;b&gt;</code>")
}
