package anchor_test

import (
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"vqa/handlers/anchor"
)

// newS3 returns a place on a server with the S3 protocol, with versions.
func newS3(t *testing.T) *anchor.Place {
	t.Helper()
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("anchors"))
	require.NoError(t, backend.SetVersioningConfiguration("anchors", gofakes3.VersioningConfiguration{Status: gofakes3.VersioningEnabled}))
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "test-id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
	p, err := anchor.Open(t.Context(), anchor.Options{
		URL: "s3://anchors?region=us-east-1&use_path_style=true&response_checksum_validation=when_required&endpoint=" + url.QueryEscape(server.URL),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// TestPlaces is not parallel, because the S3 client reads its credentials from the environment.
func TestPlaces(t *testing.T) {
	for name, open := range map[string]func(*testing.T) *anchor.Place{
		"folder": func(t *testing.T) *anchor.Place {
			p, err := anchor.Open(t.Context(), anchor.Options{URL: "file://" + t.TempDir()})
			require.NoError(t, err)
			return p
		},
		"bucket": newS3,
	} {
		t.Run(name, func(t *testing.T) { testPlace(t, open(t)) })
	}
}

func testPlace(t *testing.T, p *anchor.Place) {
	ctx := t.Context()
	_, err := p.Read(ctx, "checkpoints/0001/1")
	require.ErrorIs(t, err, anchor.ErrMissing)
	names, err := p.List(ctx, "checkpoints/0001", "")
	require.NoError(t, err)
	require.Empty(t, names)
	for _, n := range []string{"3", "1", "2"} {
		require.NoError(t, p.Create(ctx, "checkpoints/0001/"+n, []byte(n)))
	}
	require.ErrorIs(t, p.Create(ctx, "checkpoints/0001/2", []byte("other")), anchor.ErrExists)
	data, err := p.Read(ctx, "checkpoints/0001/2")
	require.NoError(t, err)
	require.Equal(t, "2", string(data))
	names, err = p.List(ctx, "checkpoints/0001", "")
	require.NoError(t, err)
	require.Equal(t, []string{"1", "2", "3"}, names)
	names, err = p.List(ctx, "checkpoints/0001", "1")
	require.NoError(t, err)
	require.Equal(t, []string{"2", "3"}, names)

	require.NoError(t, p.Put(ctx, "trees/0001/large", make([]byte, 1<<20)))
	_, err = p.Read(ctx, "trees/0001/large")
	require.NoError(t, err)
	require.NoError(t, p.Put(ctx, "trees/0002/large", make([]byte, 1<<20+1)))
	_, err = p.Read(ctx, "trees/0002/large")
	require.ErrorContains(t, err, "more than 1048576 bytes")

	require.NoError(t, p.Put(ctx, "trees/0001/tile/0/002.p/88", []byte("a")))
	require.NoError(t, p.Remove(ctx, "trees/0001/tile/0/002.p/88"))
	require.NoError(t, p.Remove(ctx, "trees/0001/tile/0/002.p/88"))
	for _, bad := range []string{"", "../x", "/x", "a/../b", "A", "a//b"} {
		require.Error(t, p.Create(ctx, bad, nil), bad)
	}
	for round := range 50 {
		var won atomic.Int32
		var all sync.WaitGroup
		for writer := range 4 {
			all.Go(func() {
				if p.Create(ctx, fmt.Sprintf("race/%d", round), []byte{byte(writer)}) == nil {
					won.Add(1)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, won.Load(), "one writer wins")
	}
}

// TestTheOldestVersionCounts hides a checkpoint under a newer version and a delete marker.
func TestTheOldestVersionCounts(t *testing.T) {
	p := newS3(t)
	require.NoError(t, p.Create(t.Context(), "keys/1", []byte("first")))
	time.Sleep(time.Millisecond)
	require.NoError(t, p.Put(t.Context(), "keys/1", []byte("second")))
	require.NoError(t, p.Remove(t.Context(), "keys/1"))
	data, err := p.Read(t.Context(), "keys/1")
	require.NoError(t, err)
	require.Equal(t, "first", string(data))
	names, err := p.List(t.Context(), "keys", "")
	require.NoError(t, err)
	require.Equal(t, []string{"1"}, names)
}

func TestCreatedFilesAreReadOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, err := anchor.Open(t.Context(), anchor.Options{Dir: dir})
	require.NoError(t, err)
	require.NoError(t, p.Create(t.Context(), "keys/1", []byte("k")))
	info, err := os.Stat(filepath.Join(dir, "ledger", "keys", "1"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o444), info.Mode().Perm())
	entries, err := os.ReadDir(filepath.Join(dir, "ledger", "keys"))
	require.NoError(t, err)
	require.Len(t, entries, 1, "no unfinished file is left")
}
