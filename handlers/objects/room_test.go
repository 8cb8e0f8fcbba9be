package objects

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/video"
)

// disk is a disk with a free space that the test sets.
type disk struct{ free atomic.Int64 }

func (d *disk) read() (int64, error) { return d.free.Load(), nil }

const keepFree = 1 << 30

func newSiteOn(t *testing.T, free int64) (*site, *disk) {
	t.Helper()
	s, d := newSite(t), &disk{}
	d.free.Store(free)
	s.opt.Free, s.opt.MinFree = d.read, keepFree
	return s, d
}

// TestUploadIsRefusedBeforeTheDiskIsFull announces more bytes than there is room for. The
// response comes before a byte of the body is sent.
func TestUploadIsRefusedBeforeTheDiskIsFull(t *testing.T) {
	t.Parallel()
	s, d := newSiteOn(t, keepFree+1<<20)
	conn := dial(t, s)
	startPut(t, conn, s.uploadURL(t, video.MaxBytes), 1<<20+1)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	_ = resp.Body.Close()
	require.Equal(t, 503, resp.StatusCode)
	require.Contains(t, string(raw), `"capacity_exhausted"`)
	require.Equal(t, 200, put(t, s.uploadURL(t, video.MaxBytes), strings.NewReader(strings.Repeat("x", 100))).status, "an upload that fits is stored")

	d.free.Store(keepFree - 1)
	require.Equal(t, "capacity_exhausted", put(t, s.uploadURL(t, 10), chunked("1")).code)
	require.Equal(t, []string{UploadKey(videoID)}, s.files(t))
	require.Equal(t, strings.Repeat("x", 100), readAll(t, s.Store, UploadKey(videoID)), "the earlier upload stays")

	// Surveys and artifacts may use the rest of the disk.
	w, err := s.Writer(t.Context(), "surveys/"+videoID, mp4, 10)
	require.NoError(t, err)
	_, err = w.Write([]byte("seen"))
	require.NoError(t, err)
	require.NoError(t, w.Commit())
}

// TestUploadEndsWhenTheDiskFills fills the disk while bytes arrive.
func TestUploadEndsWhenTheDiskFills(t *testing.T) {
	t.Parallel()
	s, d := newSiteOn(t, 10*keepFree)
	body, half := io.Pipe()
	go func() {
		block := bytes.Repeat([]byte("x"), 1<<20)
		for i := range 64 {
			if i == 20 {
				d.free.Store(keepFree - 1)
			}
			if _, err := half.Write(block); err != nil {
				return // the service has responded
			}
		}
		_ = half.Close()
	}()
	got := put(t, s.uploadURL(t, video.MaxBytes), body)
	require.Equal(t, "capacity_exhausted", got.code, got.body)
	require.Equal(t, 503, got.status)
	require.Empty(t, s.files(t), "no bytes remain")
}

// TestRealDiskFills uploads more bytes than a small file system has.
func TestRealDiskFills(t *testing.T) {
	t.Parallel()
	const size = 48 << 20
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=48m"); err != nil {
		t.Skipf("a small file system cannot be mounted here (%v): only an injected free space is tested", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	for name, minFree := range map[string]int64{"kept free": 8 << 20, "filled to the last byte": 0} {
		folder, err := os.MkdirTemp(dir, "objects") //nolint:usetesting // it must be on the small file system
		require.NoError(t, err)
		s := newSite(t)
		require.NoError(t, s.Close())
		s.Store, err = Open(t.Context(), Options{
			Dir: folder, PublicURL: s.server.URL, SigningKey: []byte(strings.Repeat("k", 32)), Now: s.opt.Now, WriteError: writeError, MinFree: minFree,
		})
		require.NoError(t, err)
		s.dir = folder
		free, known, err := s.Free()
		require.NoError(t, err)
		require.True(t, known)
		require.InDelta(t, size, free, 1<<20)

		got := put(t, s.uploadURL(t, video.MaxBytes), io.MultiReader(strings.NewReader(strings.Repeat("x", size+1))))
		require.Equal(t, "capacity_exhausted", got.code, "%s: %s", name, got.body)
		require.Empty(t, s.files(t), name)
		after, _, err := s.Free()
		require.NoError(t, err)
		require.InDelta(t, size, after, 1<<20, "the bytes are removed")
		require.Equal(t, 200, put(t, s.uploadURL(t, 10), strings.NewReader("small")).status, name)
		require.NoError(t, s.Delete(t.Context(), UploadKey(videoID)))
	}
}

func TestRoomOfABucketIsUnknown(t *testing.T) {
	s := newS3(t)
	s.opt.MinFree = keepFree
	_, known, err := s.Free()
	require.NoError(t, err)
	require.False(t, known)
	require.NoError(t, s.Room(1<<50))
}

func TestRoomNamesNoSizes(t *testing.T) {
	t.Parallel()
	s, _ := newSiteOn(t, 12345)
	f := fault.Of(s.Room(678))
	require.NotNil(t, f)
	require.Positive(t, f.RetryAfterS)
	require.NotContains(t, f.Message, "12345")
}

// TestParallelUploadsToOneURLAreBounded keeps two uploads open. Each could take the full size
// that the URL allows.
func TestParallelUploadsToOneURLAreBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	u := s.uploadURL(t, 100)
	first, second := dial(t, s), dial(t, s)
	startPut(t, first, u, 10)
	startPut(t, second, u, 10)
	for _, conn := range []io.Writer{first, second} {
		_, err := io.WriteString(conn, "x")
		require.NoError(t, err)
	}
	waitFor(t, "both to begin", func() bool { return len(s.files(t)) == 2 })
	refused := put(t, u, strings.NewReader("third"))
	require.Equal(t, "capacity_exhausted", refused.code, refused.body)
	require.Len(t, s.files(t), 2)

	require.NoError(t, first.Close())
	waitFor(t, "the first to end", func() bool { return len(s.files(t)) == 1 })
	waitFor(t, "a place", func() bool { return put(t, u, strings.NewReader("third")).status == 200 })
	require.Equal(t, "third", readAll(t, s.Store, UploadKey(videoID)))
}
