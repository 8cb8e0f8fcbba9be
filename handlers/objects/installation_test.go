package objects

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInstallationID(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id, err := s.InstallationID(t.Context())
	require.NoError(t, err)
	require.Empty(t, id, "a new bucket")
	for _, want := range []string{"first", "second"} {
		require.NoError(t, s.SetInstallationID(t.Context(), want))
		id, err = s.InstallationID(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, id)
	}
	require.NoError(t, s.Walk(t.Context(), func(page []Object) error {
		require.Empty(t, page, "the sweep of the store must not see the object")
		return nil
	}))
}
