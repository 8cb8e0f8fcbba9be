package record_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/stream"
	"vqa/handlers/intake/ffmpeg"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
	"vqa/handlers/objects"
	"vqa/streaming/assemble"
	"vqa/streaming/record"
)

// epoch is when the first picture of each test arrives.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// bucket is a folder of the object store that can fail. before is called before each call of the
// store, and its error is the result.
type bucket struct {
	*objects.Store
	mu     sync.Mutex
	before func(ctx context.Context, verb, key string) error
}

func newBucket(t testing.TB) *bucket {
	t.Helper()
	store, err := objects.Open(t.Context(), objects.Options{
		Dir: t.TempDir(), PublicURL: "http://localhost", SigningKey: bytes.Repeat([]byte("k"), 32), Now: time.Now,
		WriteError: func(http.ResponseWriter, *http.Request, error) {},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return &bucket{Store: store, before: func(context.Context, string, string) error { return nil }}
}

// fail sets before.
func (b *bucket) fail(before func(ctx context.Context, verb, key string) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.before = before
}

func (b *bucket) ask(ctx context.Context, verb, key string) error {
	b.mu.Lock()
	before := b.before
	b.mu.Unlock()
	return before(ctx, verb, key)
}

func (b *bucket) Put(ctx context.Context, key, contentType string, content io.Reader, size int64) error {
	if err := b.ask(ctx, "put", key); err != nil {
		return err
	}
	return b.Store.Put(ctx, key, contentType, content, size)
}

func (b *bucket) Reader(ctx context.Context, key string) (io.ReadSeekCloser, error) {
	if err := b.ask(ctx, "read", key); err != nil {
		return nil, err
	}
	return b.Store.Reader(ctx, key)
}

func (b *bucket) Delete(ctx context.Context, key string) error {
	if err := b.ask(ctx, "delete", key); err != nil {
		return err
	}
	return b.Store.Delete(ctx, key)
}

// content returns the bytes of an object.
func (b *bucket) content(t testing.TB, key string) []byte {
	t.Helper()
	r, err := b.Store.Reader(t.Context(), key)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	all, err := io.ReadAll(r)
	require.NoError(t, err)
	return all
}

func (b *bucket) has(t testing.TB, key string) bool {
	t.Helper()
	_, err := b.Stat(t.Context(), key)
	require.True(t, err == nil || fault.Has(err, fault.ResourceNotFound), "%v", err)
	return err == nil
}

// session is a recording in a bucket.
type session struct {
	*record.Recorder
	bucket *bucket
	folder string
	mu     sync.Mutex
	parts  []stream.Part
	failed []error
}

// newSession starts a recording. It sets the fields of o that are required.
func newSession(t testing.TB, b *bucket, o record.Options) *session {
	t.Helper()
	s := &session{bucket: b, folder: objects.RecordingKey("st_1", "")}
	s.folder = strings.TrimSuffix(s.folder, "/")
	o.Folder, o.Store = s.folder, b
	o.Stored = func(p stream.Part) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.parts = append(s.parts, p)
	}
	o.Failed = func(err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.failed = append(s.failed, err)
	}
	s.Recorder = record.New(o)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Close(ctx)
	})
	return s
}

func (s *session) told() []stream.Part {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]stream.Part(nil), s.parts...)
}

func (s *session) failures() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]error(nil), s.failed...)
}

func (s *session) finish(t testing.TB) error {
	t.Helper()
	f := record.Finisher{Store: s.bucket, FFmpeg: ffmpegtest.Runner(t)}
	return f.Finish(t.Context(), s.folder, s.told(), t.TempDir())
}

var errAway = errors.New("the store is away")

// clip has real H.264 pictures.
type clip struct {
	codec         assemble.Codec
	width, height int
	pictures      [][]byte
}

// encode returns n drawn pictures with a keyframe every 15. bFrames is the number of B-frames in a row.
func encode(t testing.TB, width, height, n, bFrames int) clip {
	t.Helper()
	args := []string{"-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "ultrafast", "-g", "15", "-keyint_min", "15", "-sc_threshold", "0"}
	params := "aud=1:b-adapt=0:bframes=" + strconv.Itoa(bFrames)
	p, err := ffmpegtest.Runner(t).Start(t.Context(), ffmpeg.Job{
		InputArgs:  []string{"-f", "rawvideo", "-pix_fmt", "gray", "-video_size", strconv.Itoa(width) + "x" + strconv.Itoa(height), "-framerate", "30"},
		OutputArgs: append(args, "-x264-params", params, "-f", "h264", "pipe:1"),
	})
	require.NoError(t, err)
	go func() {
		picture := make([]byte, width*height)
		for i := range n {
			for j := range picture {
				picture[j] = byte(((j%width+3*i)*(j/width+i)>>6)&0x7f) + 16
			}
			if _, err := p.Stdin.Write(picture); err != nil {
				break
			}
		}
		_ = p.Stdin.Close()
	}()
	out, err := io.ReadAll(p.Stdout)
	require.NoError(t, err)
	require.NoError(t, p.Wait())
	c := clip{codec: assemble.H264, width: width, height: height}
	delimiter := []byte{0, 0, 0, 1, 9}
	for _, b := range bytes.Split(out, delimiter)[1:] {
		c.pictures = append(c.pictures, append(bytes.Clone(delimiter), b...))
	}
	require.Len(t, c.pictures, n)
	return c
}

// picture returns picture i of the clip.
func (c clip) picture(i int, at int64) assemble.Picture {
	return assemble.Picture{
		Codec: c.codec, Key: i%15 == 0, Time: at, Width: c.width, Height: c.height, Data: c.pictures[i],
		At: epoch.Add(time.Duration(at) * time.Second / assemble.ClockRate),
	}
}
