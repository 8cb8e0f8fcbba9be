package objects

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
)

// requireUnavailable checks that an error is that of a store that failed.
func requireUnavailable(t *testing.T, err error) {
	t.Helper()
	var down *UnavailableError
	require.ErrorAs(t, err, &down)
	require.True(t, fault.Has(err, fault.CapacityExhausted), "%v", err)
	require.Positive(t, fault.Of(err).RetryAfterS)
}

// TestFolderThatIsGone moves the folder of the store away, as an unmounted disk does. Nothing
// looks deleted, and nothing is written elsewhere.
func TestFolderThatIsGone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.NoError(t, s.Check(t.Context()))
	require.Empty(t, s.files(t), "a check leaves nothing behind")
	u := s.uploadURL(t, 10)
	require.Equal(t, 200, put(t, u, strings.NewReader("bytes")).status)
	key := UploadKey(videoID)
	require.NoError(t, s.Readable(t.Context(), key))

	away := s.dir + ".away"
	require.NoError(t, os.Rename(s.dir, away))
	t.Cleanup(func() { _ = os.RemoveAll(away) })
	for name, err := range map[string]error{
		"check": s.Check(t.Context()), "readable": s.Readable(t.Context(), key), "delete": s.Delete(t.Context(), key),
		"delete video": s.DeleteVideo(t.Context(), videoID, key), "freeze": s.Freeze(t.Context(), key),
	} {
		t.Run(name, func(t *testing.T) { requireUnavailable(t, err) })
	}
	_, err := s.Stat(t.Context(), key)
	requireUnavailable(t, err)
	_, err = s.Writer(t.Context(), SurveyKey(videoID), mp4, 10)
	requireUnavailable(t, err)
	refused := put(t, u, strings.NewReader("other"))
	require.Equal(t, 503, refused.status, refused.body)
	require.NoDirExists(t, s.dir, "nothing is written into a new folder")

	require.NoError(t, os.Rename(away, s.dir))
	require.NoError(t, s.Check(t.Context()))
	require.Equal(t, "bytes", readAll(t, s.Store, key))
	require.NoError(t, s.DeleteVideo(t.Context(), videoID, key))
	requireUnavailable(t, s.Readable(t.Context(), key))
}

// TestCheckOfAFullDisk fills a small file system.
func TestCheckOfAFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	s, err := Open(t.Context(), Options{
		Dir: dir, PublicURL: "http://service.example", SigningKey: []byte(strings.Repeat("k", 32)), Now: newSite(t).opt.Now, WriteError: writeError,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.Check(t.Context()))
	fill := dir + "/fill"
	require.ErrorIs(t, os.WriteFile(fill, make([]byte, 1<<20), 0o600), syscall.ENOSPC)
	err = s.Check(t.Context())
	require.True(t, fault.Has(err, fault.CapacityExhausted), "%v", err)
	require.True(t, errors.Is(err, syscall.ENOSPC))
	require.NoError(t, os.Remove(fill))
	require.NoError(t, s.Check(t.Context()))
}
