package objects

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

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

// TestAStartDoesNotMarkAnotherFolder opens a store while its folder is away, as a node does that starts
// before the disk is mounted. A node that runs must not take the new folder for the store.
func TestAStartDoesNotMarkAnotherFolder(t *testing.T) {
	t.Parallel()
	opt := Options{
		Dir: filepath.Join(t.TempDir(), "objects"), Unproven: true, PublicURL: "http://service.example", SigningKey: make([]byte, 32),
		Now: time.Now, WriteError: func(http.ResponseWriter, *http.Request, error) {},
	}
	open := func() *Store {
		s, err := Open(t.Context(), opt)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
	runs := open()
	require.Error(t, runs.Check(t.Context()), "the folder has no id yet")
	require.NoError(t, runs.SetInstallationID(t.Context(), "inst_1"))
	require.NoError(t, runs.Check(t.Context()))

	require.NoError(t, os.Rename(opt.Dir, opt.Dir+".away"))
	starts := open()
	id, err := starts.InstallationID(t.Context())
	require.NoError(t, err)
	require.Empty(t, id, "the node that starts finds another store, and refuses to serve")
	require.Error(t, runs.Check(t.Context()), "the store is still away for the node that runs")
	require.NoError(t, os.Remove(opt.Dir), "no node wrote into the new folder")

	require.NoError(t, os.Rename(opt.Dir+".away", opt.Dir))
	require.NoError(t, os.Remove(filepath.Join(opt.Dir, markName)))
	id, err = open().InstallationID(t.Context())
	require.NoError(t, err)
	require.Equal(t, "inst_1", id)
	require.NoError(t, runs.Check(t.Context()), "a start marks the folder of the installation again")
}
