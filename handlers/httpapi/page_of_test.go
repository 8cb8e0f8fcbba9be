package httpapi

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/projections"
)

func TestPageOf(t *testing.T) {
	t.Parallel()
	require.Equal(t, projections.Page{Limit: 20}, pageOf(nil, nil, nil, nil, nil))
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)
	end := at.Add(999 * time.Microsecond) // the last time that responses show as at
	want := projections.Page{Limit: 100, StartingAfter: "a", EndingBefore: "b", CreatedAfter: &at, CreatedBefore: &end}
	require.Equal(t, want, pageOf(new(100), new("a"), new("b"), &at, &at))
	between := at.Add(400 * time.Microsecond)
	require.Equal(t, projections.Page{Limit: 20, CreatedAfter: new(at.Add(time.Millisecond)), CreatedBefore: &end},
		pageOf(nil, nil, nil, &between, &between), "nothing is shown between two milliseconds")
}
