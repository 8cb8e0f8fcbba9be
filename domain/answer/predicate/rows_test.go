package predicate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/query"
)

// examples of conditions that each form reads, by its form.
var examples = map[string]string{
	"COLORS": "dark blue", "wearing COLORS [ITEM]": "wearing red shirt", "entering [from SIDE]": "entering from left", "leaving [toward SIDE]": "leaving",
}

func example(r Row) query.Condition {
	text, ok := examples[r.Form]
	if !ok {
		text, _, _ = strings.Cut(r.Form, ", ")
	}
	return query.Condition{Kind: r.Kind, Value: strings.ReplaceAll(text, "OBJECT", "red car")}
}

// TestRowsAreFound: each row reads its form and its relations' synonyms, for the objects that it is about
// only.
func TestRowsAreFound(t *testing.T) {
	t.Parallel()
	for _, r := range Rows {
		found, test, ok := Find(example(r), []string{"person"})
		require.True(t, ok, r.Form)
		require.Equal(t, r.Form, found.Form)
		require.True(t, test.Read != nil || test.Along != nil, r.Form)
		_, _, ok = Find(example(r), []string{"car"})
		require.Equal(t, r.Who == Anything || r.Form == "on ground" && ok, ok, r.Form)
		_, object := example(r).Split()
		require.True(t, !r.Object || object != nil && object.Term == "car", r.Form)
	}
	_, _, ok := Find(query.Condition{Kind: query.KindAction, Value: "dancing"}, []string{"person"})
	require.False(t, ok)
}
