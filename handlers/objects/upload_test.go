package objects

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/video"
	"vqa/handlers/wire"
)

// chunked hides the length of a body, so that it is sent without Content-Length.
func chunked(s string) io.Reader { return io.MultiReader(strings.NewReader(s)) }

func TestUpload(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		max    int64
		header map[string]string
		body   io.Reader
		status int
		code   string
	}{
		{"within the limit", 5, nil, strings.NewReader("12345"), 200, ""},
		{"within the limit, chunked", 5, nil, chunked("12345"), 200, ""},
		{"type with a parameter", 5, map[string]string{"Content-Type": "Video/MP4; codecs=avc1"}, strings.NewReader("1"), 200, ""},
		{"over the limit by Content-Length", 5, nil, strings.NewReader("123456"), 413, "payload_too_large"},
		{"over the limit as bytes arrive", 5, nil, chunked("123456"), 413, "payload_too_large"},
		{"empty", 5, nil, http.NoBody, 400, "upload_incomplete"},
		{"empty, chunked", 5, nil, chunked(""), 400, "upload_incomplete"},
		{"another type", 5, map[string]string{"Content-Type": "video/quicktime"}, strings.NewReader("1"), 415, "unsupported_media_type"},
		{"no type", 5, map[string]string{"Content-Type": ""}, strings.NewReader("1"), 415, "unsupported_media_type"},
		{"an encoding", 5, map[string]string{"Content-Encoding": "gzip"}, strings.NewReader("1"), 415, "unsupported_media_type"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			u := s.uploadURL(t, c.max)
			for k, v := range c.header {
				u.Headers[k] = v
			}
			got := put(t, u, c.body)
			require.Equal(t, c.code, got.code, got.body)
			require.Equal(t, c.status, got.status)
			want := []string{}
			if c.status == 200 {
				want = append(want, UploadKey(videoID))
			}
			if diff := cmp.Diff(want, s.files(t)); diff != "" {
				t.Errorf("files (-want +got)\n%s", diff)
			}
		})
	}
}

// TestUploadOverTwoGiB: a body over the limit for videos is refused with video_too_large, even
// when the URL allows less. The Content-Length alone is enough.
func TestUploadOverTwoGiB(t *testing.T) {
	t.Parallel()
	for _, maxBytes := range []int64{video.MaxBytes, 1000} {
		s := newSite(t)
		conn := dial(t, s)
		u := s.uploadURL(t, maxBytes)
		startPut(t, conn, u, video.MaxBytes+1)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		raw, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		_ = resp.Body.Close()
		require.Equal(t, 400, resp.StatusCode)
		require.Contains(t, string(raw), `"video_too_large"`)
		require.Empty(t, s.files(t))
	}
}

// TestUploadTooLargeCanBeRead: a client that sends its whole body before it reads gets the error.
func TestUploadTooLargeCanBeRead(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	conn := dial(t, s)
	const size = 12 << 20 // more than the buffers of a connection hold
	startPut(t, conn, s.uploadURL(t, 1000), size)
	_, err := io.Copy(conn, strings.NewReader(strings.Repeat("x", size)))
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
}

func dial(t *testing.T, s *site) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.server.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	return conn
}

// startPut writes the head of a PUT by hand, to send its body in pieces.
func startPut(t *testing.T, conn net.Conn, u Signed, length int64) {
	t.Helper()
	target, err := url.Parse(u.URL)
	require.NoError(t, err)
	_, err = fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: %s\r\nContent-Type: video/mp4\r\nContent-Length: %d\r\n\r\n",
		target.RequestURI(), target.Host, length)
	require.NoError(t, err)
}

// waitFor polls until another goroutine makes a condition true.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, 20*time.Second, 2*time.Millisecond, what)
}

func TestUploadCutLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	conn := dial(t, s)
	startPut(t, conn, s.uploadURL(t, 100), 100)
	_, err := io.WriteString(conn, strings.Repeat("x", 40))
	require.NoError(t, err)
	waitFor(t, "a temporary file", func() bool { return len(s.files(t)) == 1 })
	require.NoError(t, conn.Close())
	waitFor(t, "no file", func() bool { return len(s.files(t)) == 0 })
}

// TestUploadStallLeavesNothing: a stalled upload is refused and leaves nothing.
func TestUploadStallLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.uploadPace = wire.Pace{Patience: 100 * time.Millisecond, Rate: 1 << 10}
	conn := dial(t, s)
	startPut(t, conn, s.uploadURL(t, 100), 100)
	_, err := io.WriteString(conn, "x")
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	_ = resp.Body.Close()
	require.Contains(t, string(raw), `"upload_incomplete"`)
	waitFor(t, "no file", func() bool { return len(s.files(t)) == 0 })
}

// TestUploadUnderwayIsRefusedAfterFreeze: an upload that starts before Freeze and ends after
// it is refused. The bytes of the ready video do not change.
func TestUploadUnderwayIsRefusedAfterFreeze(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx := t.Context()
	u := s.uploadURL(t, 100)
	require.Equal(t, 200, put(t, u, strings.NewReader("original")).status)

	conn := dial(t, s)
	startPut(t, conn, u, 9)
	_, err := io.WriteString(conn, "evil")
	require.NoError(t, err)
	waitFor(t, "the second upload to begin", func() bool { return len(s.files(t)) == 2 })

	info, err := s.Stat(ctx, UploadKey(videoID))
	require.NoError(t, err)
	require.NoError(t, s.Promote(ctx, UploadKey(videoID), VideoKey(videoID), info.ETag))
	require.NoError(t, s.Freeze(ctx, UploadKey(videoID)))

	_, err = io.WriteString(conn, " data")
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	_ = resp.Body.Close()
	require.Contains(t, string(raw), `"resource_conflict"`)
	require.Equal(t, "resource_conflict", put(t, u, strings.NewReader("again")).code)
	require.Equal(t, "original", readAll(t, s.Store, VideoKey(videoID)))
	require.Equal(t, []string{UploadKey(videoID) + ".closed", VideoKey(videoID)}, s.files(t))
}

// TestConcurrentUploadsNeverMix: of parallel uploads to one key, one is stored completely.
func TestConcurrentUploadsNeverMix(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	u := s.uploadURL(t, 1<<20)
	var wg sync.WaitGroup
	var stored atomic.Int64
	for i := range 8 {
		wg.Go(func() {
			body := strings.Repeat(string(rune('a'+i)), 200_000)
			switch got := put(t, u, chunked(body)); {
			case got.status == 200:
				stored.Add(1)
			case got.code != "capacity_exhausted":
				t.Errorf("status %d: %s", got.status, got.body)
			}
		})
	}
	wg.Wait()
	require.Positive(t, stored.Load())
	got := readAll(t, s.Store, UploadKey(videoID))
	require.Len(t, got, 200_000)
	require.Equal(t, strings.Repeat(got[:1], 200_000), got)
	require.Len(t, s.files(t), 1)
}

func BenchmarkUpload(b *testing.B) {
	s := newSite(b)
	const size = 64 << 20
	u, err := s.UploadURL(b.Context(), UploadKey(videoID), mp4, video.MaxBytes, SignedURLLife)
	require.NoError(b, err)
	body := strings.Repeat("x", size)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		req, err := http.NewRequestWithContext(b.Context(), u.Method, u.URL, strings.NewReader(body))
		require.NoError(b, err)
		req.Header.Set("Content-Type", mp4)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(b, err)
		_ = resp.Body.Close()
		require.Equal(b, 200, resp.StatusCode)
	}
}

// TestUploadUnderwayEndsAfterFreeze: an upload ends when its video is deleted. Otherwise its
// sender could fill the disk with bytes that no quota counts.
func TestUploadUnderwayEndsAfterFreeze(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.checkEvery = 0
	u := s.uploadURL(t, 1<<30)
	conn := dial(t, s)
	startPut(t, conn, u, 1<<30)
	_, err := io.WriteString(conn, "begun")
	require.NoError(t, err)
	waitFor(t, "the upload to begin", func() bool { return len(s.files(t)) == 1 })
	require.NoError(t, s.Freeze(t.Context(), UploadKey(videoID)))

	_, err = io.WriteString(conn, "more")
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err, "the response comes before the last byte")
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Contains(t, string(raw), `"resource_conflict"`)
	require.Equal(t, []string{UploadKey(videoID) + ".closed"}, s.files(t))
}
