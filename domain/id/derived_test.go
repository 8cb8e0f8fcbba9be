package id_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/id"
)

func TestDerived(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	first := id.Derived(id.Video, at, "a", "b")
	require.Equal(t, "video_01M7XPE600B6S73BGVQJRX67A1", first, "a published id never changes")
	require.True(t, id.Valid(id.Video, first))
	require.Equal(t, first, id.Derived(id.Video, at, "a", "b"))
	for _, other := range []string{
		id.Derived(id.Video, at, "a"), id.Derived(id.Video, at, "ab"), id.Derived(id.Video, at, "b", "a"),
		id.Derived(id.Video, at.Add(time.Hour), "a", "b"),
	} {
		require.NotEqual(t, first, other)
	}
}
