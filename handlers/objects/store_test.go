package objects

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/video"
)

// newS3 returns a store on a server with the S3 protocol.
func newS3(t *testing.T) *Store {
	t.Helper()
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("videos"))
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "test-id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
	var s *Store
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.ServeHTTP(w, r) }))
	t.Cleanup(own.Close)
	s, err := Open(t.Context(), Options{
		URL: "s3://videos?region=us-east-1&use_path_style=true&response_checksum_validation=when_required&endpoint=" + url.QueryEscape(server.URL),
		Now: time.Now, PublicURL: own.URL, SigningKey: make([]byte, 32), WriteError: writeError,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// TestDrivers: both drivers give the same guarantees. It is not parallel, because the S3 client
// reads its credentials from the environment.
func TestDrivers(t *testing.T) {
	for name, open := range map[string]func(*testing.T) *Store{
		"file": func(t *testing.T) *Store { return newSite(t).Store },
		"s3":   newS3,
	} {
		t.Run(name, func(t *testing.T) { testDriver(t, open(t)) })
	}
}

func testDriver(t *testing.T, s *Store) {
	ctx := t.Context()
	up, final := UploadKey(videoID), VideoKey(videoID)

	_, err := s.Stat(ctx, up)
	require.True(t, fault.Has(err, fault.ResourceNotFound), "%v", err)
	_, err = s.Reader(ctx, up)
	require.True(t, fault.Has(err, fault.ResourceNotFound), "%v", err)
	require.True(t, fault.Has(s.Promote(ctx, up, final, "x"), fault.ResourceNotFound))
	require.NoError(t, s.Delete(ctx, up))

	signed, err := s.UploadURL(ctx, up, mp4, 1000, SignedURLLife)
	require.NoError(t, err)
	require.Equal(t, http.MethodPut, signed.Method)
	require.Equal(t, 200, put(t, signed, strings.NewReader("first")).status)
	old, err := s.Stat(ctx, up)
	require.NoError(t, err)
	require.Equal(t, int64(5), old.SizeBytes)
	require.Equal(t, 200, put(t, signed, strings.NewReader("second")).status)

	require.True(t, fault.Has(s.Promote(ctx, up, final, old.ETag), fault.ResourceConflict), "Promote refuses an old ETag")
	info, err := s.Stat(ctx, up)
	require.NoError(t, err)
	for range 2 { // a second attempt after a crash
		require.NoError(t, s.Promote(ctx, up, final, info.ETag))
	}
	require.Equal(t, 200, put(t, signed, strings.NewReader("third")).status, "the URL is still valid")
	require.Equal(t, "second", readAll(t, s, final), "but it cannot change the ready video")
	for range 2 {
		require.NoError(t, s.Freeze(ctx, up))
	}
	_, err = s.Stat(ctx, up)
	require.True(t, fault.Has(err, fault.ResourceNotFound))

	play, err := s.DownloadURL(ctx, final, "clip.mp4", mp4, SignedURLLife)
	require.NoError(t, err)
	got := do(t, play.Method, play.URL, map[string]string{"Range": "bytes=1-3"}, nil)
	require.Equal(t, "eco", got.body)
	source, err := s.Source(ctx, final)
	require.NoError(t, err)
	require.NotEmpty(t, source)

	r, err := s.Reader(ctx, final)
	require.NoError(t, err)
	_, err = r.Seek(-2, io.SeekEnd)
	require.NoError(t, err)
	tail, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.Equal(t, "nd", string(tail))

	require.NoError(t, s.Delete(ctx, final))
	_, err = s.Stat(ctx, final)
	require.True(t, fault.Has(err, fault.ResourceNotFound))

	testWriter(t, s)
	testAwaited(t, s)
}

func testWriter(t *testing.T, s *Store) {
	ctx := t.Context()
	key := VideoKey("video_written")
	write := func(limit int64, parts ...string) (*Writer, error) {
		w, err := s.Writer(ctx, key, mp4, limit)
		require.NoError(t, err)
		for _, p := range parts {
			if _, err := io.WriteString(w, p); err != nil {
				return w, err
			}
		}
		return w, nil
	}
	w, err := write(10, "12345", "67890")
	require.NoError(t, err)
	_, err = s.Stat(ctx, key)
	require.True(t, fault.Has(err, fault.ResourceNotFound), "the object appears with Commit")
	require.NoError(t, w.Commit())
	require.Error(t, w.Commit())
	w.Abort()
	require.Equal(t, "1234567890", readAll(t, s, key))

	w, err = write(10, "12345", "678901")
	require.True(t, fault.Has(err, fault.PayloadTooLarge), "%v", err)
	w.Abort()
	w, err = write(video.MaxBytes)
	require.NoError(t, err)
	w.n = video.MaxBytes // simulates 2 GiB of written bytes
	_, err = w.Write([]byte{0})
	require.True(t, fault.Has(err, fault.VideoTooLarge), "%v", err)
	w.Abort()
	w, err = write(10, "abc")
	require.NoError(t, err)
	w.Abort()
	require.Equal(t, "1234567890", readAll(t, s, key), "an aborted write changes nothing")
}

// TestS3UploadURLBindsContentType: a presigned PUT of S3 must bind the content type. Otherwise
// a client could upload an HTML page.
func TestS3UploadURLBindsContentType(t *testing.T) {
	s := newS3(t)
	signed, err := s.UploadURL(t.Context(), UploadKey(videoID), mp4, 10, 90*time.Second)
	require.NoError(t, err)
	u, err := url.Parse(signed.URL)
	require.NoError(t, err)
	require.Contains(t, strings.Split(u.Query().Get("X-Amz-SignedHeaders"), ";"), "content-type")
	require.Equal(t, "90", u.Query().Get("X-Amz-Expires"))
	require.Equal(t, mp4, signed.Headers["Content-Type"])

	play, err := s.DownloadURL(t.Context(), VideoKey(videoID), "a/b.mp4", mp4, time.Hour)
	require.NoError(t, err)
	u, err = url.Parse(play.URL)
	require.NoError(t, err)
	require.Equal(t, "inline; filename=b.mp4", u.Query().Get("response-content-disposition"))
	require.Equal(t, mp4, u.Query().Get("response-content-type"))
}

func TestSweep(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx := t.Context()
	for _, key := range []string{"uploads/old", "uploads/new", "uploads/frozen", "videos/old"} {
		w, err := s.Writer(ctx, key, mp4, 10)
		require.NoError(t, err)
		_, err = io.WriteString(w, "x")
		require.NoError(t, err)
		require.NoError(t, w.Commit())
	}
	require.NoError(t, s.Freeze(ctx, "uploads/frozen"))
	// A killed process leaves the temporary file of an upload.
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "videos/x.1a2b.tmp"), []byte("half"), 0o600))
	for _, name := range []string{"uploads/old", "uploads/frozen.closed", "videos/old", "videos/x.1a2b.tmp"} {
		s.age(t, name, 26*time.Hour)
	}
	n, err := s.Sweep(ctx, s.opt.Now().Add(-25*time.Hour))
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.Equal(t, []string{"uploads/new", "videos/old"}, s.files(t))
}

// TestPromoteWithoutLinks: Promote copies when the file system has no hard links.
func TestPromoteWithoutLinks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	tried := 0
	s.hardLink = func(string, string) error { tried++; return syscall.EPERM }
	body := strings.Repeat("ab", 1<<16)
	require.Equal(t, 200, put(t, s.uploadURL(t, 1<<20), strings.NewReader(body)).status)
	info, err := s.Stat(t.Context(), UploadKey(videoID))
	require.NoError(t, err)
	require.NoError(t, s.Promote(t.Context(), UploadKey(videoID), VideoKey(videoID), info.ETag))
	require.Equal(t, 1, tried)
	require.Equal(t, body, readAll(t, s.Store, VideoKey(videoID)))
	require.Equal(t, []string{UploadKey(videoID), VideoKey(videoID)}, s.files(t))
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	good := Options{Dir: t.TempDir(), PublicURL: "http://x", SigningKey: make([]byte, 32), Now: time.Now, WriteError: writeError}
	for name, spoil := range map[string]func(*Options){
		"no clock":         func(o *Options) { o.Now = nil },
		"a short key":      func(o *Options) { o.SigningKey = make([]byte, 31) },
		"no folder":        func(o *Options) { o.Dir = "" },
		"no public URL":    func(o *Options) { o.PublicURL = "" },
		"no error writer":  func(o *Options) { o.WriteError = nil },
		"an unknown kind":  func(o *Options) { o.URL = "nosuch://secret:word@bucket" },
		"not a bucket URL": func(o *Options) { o.URL = "bucket" },
	} {
		opt := good
		spoil(&opt)
		_, err := Open(context.Background(), opt)
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "word", "errors must not contain the credentials of a URL")
	}
}
