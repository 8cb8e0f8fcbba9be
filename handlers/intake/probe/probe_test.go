package probe

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/handlers/intake/ffmpeg"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
	"vqa/handlers/intake/forged"
)

func newProber(t testing.TB) *Prober {
	t.Helper()
	return New(ffmpegtest.Runner(t))
}

// render makes a clip with ffmpeg. By default it has two seconds of a test pattern, 320x180 at
// 30000/1001 frames per second.
func render(t testing.TB, name string, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if len(args) == 0 {
		args = []string{"-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"}
	}
	cmd := exec.CommandContext(t.Context(), "ffmpeg", append(append([]string{"-v", "error", "-y",
		"-f", "lavfi", "-i", "testsrc2=size=320x180:rate=30000/1001:duration=2", "-f", "lavfi", "-i", "sine=duration=2"}, args...), path)...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

func write(t testing.TB, name string, body []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, body, 0o600))
	return path
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	body, err := os.ReadFile(path)
	require.NoError(t, err)
	return body
}

// examine inspects and probes a file, as an upload is.
func examine(t testing.TB, p *Prober, path string) (Video, error) {
	t.Helper()
	movie, err := Inspect(bytes.NewReader(read(t, path)))
	if err != nil {
		return Video{}, err
	}
	return p.Probe(t.Context(), path, movie)
}

func ptr[T any](v T) *T { return &v }

// turned sets the display matrix of the first track to a quarter turn.
func turned(t testing.TB, body []byte) []byte {
	t.Helper()
	at := bytes.Index(body, []byte("tkhd"))
	require.Positive(t, at)
	body = bytes.Clone(body)
	matrix := body[at+4+40:] // ISO/IEC 14496-12, track header of version 0
	for i, v := range []uint32{0, 1 << 16, 0, 0xFFFF0000, 0, 0, 180 << 16, 0, 1 << 30} {
		binary.BigEndian.PutUint32(matrix[4*i:], v)
	}
	return body
}

func TestProbeReadable(t *testing.T) {
	t.Parallel()
	p := newProber(t)
	plain := render(t, "plain.mp4")
	x264 := []string{"-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"}
	cases := []struct {
		name, path string
		want       Video
	}{
		{"mp4", plain, Video{DurationMicros: ptr[int64](2002000), Width: ptr(320), Height: ptr(180), FPS: ptr(30000.0 / 1001)}},
		{"mov, with sound, a whole frame rate", render(t, "a.mov", append(x264, "-r", "25", "-c:a", "aac", "-t", "1")...),
			Video{DurationMicros: ptr[int64](1000000), Width: ptr(320), Height: ptr(180), FPS: ptr(25.0)}},
		{"turned by 90 degrees", write(t, "turned.mp4", turned(t, read(t, plain))),
			Video{DurationMicros: ptr[int64](2002000), Width: ptr(180), Height: ptr(320), FPS: ptr(30000.0 / 1001)}},
		{"wide pixels", render(t, "wide.mp4", append(x264, "-vf", "setsar=4/3")...),
			Video{DurationMicros: ptr[int64](2002000), Width: ptr(427), Height: ptr(180), FPS: ptr(30000.0 / 1001)}},
		{"wide pixels, turned", write(t, "both.mp4", turned(t, read(t, render(t, "wide.mp4", append(x264, "-vf", "setsar=4/3")...)))),
			Video{DurationMicros: ptr[int64](2002000), Width: ptr(180), Height: ptr(427), FPS: ptr(30000.0 / 1001)}},
		{"one frame", render(t, "one.mp4", append(x264, "-frames:v", "1", "-r", "10")...),
			Video{DurationMicros: ptr[int64](100000), Width: ptr(320), Height: ptr(180), FPS: ptr(10.0)}},
		{"fragmented", render(t, "frag.mp4", append(x264, "-movflags", "+frag_keyframe+empty_moov", "-an", "-r", "25", "-t", "1")...),
			Video{DurationMicros: ptr[int64](1000000), Width: ptr(320), Height: ptr(180), FPS: ptr(25.0)}},
		{"a name that looks like an option or a protocol", func() string {
			return write(t, "-i http:x.mp4", read(t, plain))
		}(), Video{DurationMicros: ptr[int64](2002000), Width: ptr(320), Height: ptr(180), FPS: ptr(30000.0 / 1001)}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := examine(t, p, c.path)
			require.NoError(t, err)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestProbeURL: the source of an object in a bucket is a signed URL.
func TestProbeURL(t *testing.T) {
	t.Parallel()
	p := newProber(t)
	dir := filepath.Dir(render(t, "plain.mp4"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "text.mp4"), []byte("text"), 0o600))
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	got, err := p.Probe(t.Context(), server.URL+"/plain.mp4?signature=x", Movie{})
	require.NoError(t, err)
	require.Equal(t, 320, *got.Width)
	_, err = p.Probe(t.Context(), server.URL+"/text.mp4", Movie{})
	require.True(t, fault.Has(err, fault.VideoUnreadable), "%v", err)
	_, err = p.Probe(t.Context(), server.URL+"/absent.mp4?signature=secret", Movie{})
	require.Error(t, err)
	require.Nil(t, fault.Of(err), "an unreachable source is not an error of the video")
	require.NotContains(t, err.Error(), "secret")
}

// TestLengthsOfForgedFiles: the length is that of the frames and not the claimed one, even when
// only the end of the file is read.
func TestLengthsOfForgedFiles(t *testing.T) {
	t.Parallel()
	p := newProber(t)
	files, err := forged.Corpus(t.Context())
	require.NoError(t, err)
	for _, file := range files {
		t.Run(file.Name, func(t *testing.T) {
			t.Parallel()
			path := write(t, "forged.mp4", file.Data)
			got, err := examine(t, p, path)
			require.NoError(t, err)
			require.NotNil(t, got.DurationMicros)
			// The tables do not always have the duration of the last frame.
			picture := file.LengthS / 30 // each file has at least 30 frames
			require.InDelta(t, file.LengthS, float64(*got.DurationMicros)/1e6, picture+1e-6)
			movie, err := Inspect(bytes.NewReader(file.Data))
			require.NoError(t, err)
			end, err := p.packets(t.Context(), ffmpeg.Source{Name: path, Track: movie.Track}, "-ss", beyond)
			require.NoError(t, err)
			if file.LengthS < forged.ClipS && end.durationMicros() == nil {
				require.Equal(t, "an edit list that shows half", file.Name, "the edit list removes only its last key frame")
			} else {
				require.Equal(t, *got.DurationMicros, *end.durationMicros())
			}
			if file.ClaimedMicros == 0 {
				require.Nil(t, movie.ClaimedMicros)
				return
			}
			require.Equal(t, file.ClaimedMicros, *movie.ClaimedMicros)
		})
	}
}

// slowServer serves a file and stalls at an offset.
func slowServer(t *testing.T, body []byte, place int64) (url string) {
	t.Helper()
	released := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := &stalled{ResponseWriter: w, place: place, released: released, request: r}
		_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &s.at)
		http.ServeContent(s, r, "clip.mp4", time.Time{}, bytes.NewReader(body))
	}))
	t.Cleanup(func() { close(released); server.Close() })
	return server.URL
}

type stalled struct {
	http.ResponseWriter
	at, place int64
	released  chan struct{}
	request   *http.Request
}

// Write stalls at the offset. A response that starts after the offset is complete.
func (s *stalled) Write(p []byte) (int, error) {
	if s.at > s.place || s.at+int64(len(p)) <= s.place {
		s.at += int64(len(p))
		return s.ResponseWriter.Write(p)
	}
	n, err := s.ResponseWriter.Write(p[:s.place-s.at])
	if err != nil {
		return n, err
	}
	_ = http.NewResponseController(s.ResponseWriter).Flush()
	select {
	case <-s.released:
	case <-s.request.Context().Done():
	}
	return n, errors.New("stalled")
}

func TestProbeInTime(t *testing.T) {
	t.Parallel()
	// Noise makes 25 MB, because ffmpeg reads up to 5 MB before it starts.
	body, err := forged.Render(t.Context(), "testsrc2=size=640x360:rate=10:duration=6,noise=alls=60:allf=t", "-crf", "1", "-movflags", "+faststart")
	require.NoError(t, err)
	media := int64(bytes.Index(body, []byte("mdat")))
	t.Run("no time for a frame", func(t *testing.T) {
		t.Parallel()
		p := newProber(t)
		p.timeout = time.Second
		_, err := p.Probe(t.Context(), slowServer(t, body, media), Movie{})
		require.True(t, fault.Has(err, fault.CapacityExhausted), "%v", err)
		require.Equal(t, retryAfterS, fault.Of(err).RetryAfterS)
	})
	t.Run("no time for all packets", func(t *testing.T) {
		t.Parallel()
		p := newProber(t)
		p.timeout = 6 * time.Second
		got, err := p.Probe(t.Context(), slowServer(t, body, int64(len(body))/2), Movie{})
		require.NoError(t, err)
		require.EqualValues(t, 6_000_000, *got.DurationMicros, "the length comes from the end of the file")
		require.InDelta(t, 10, *got.FPS, 1e-9)
	})
	t.Run("the caller gives up", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		_, err := newProber(t).Probe(ctx, slowServer(t, body, media), Movie{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Nil(t, fault.Of(err))
	})
	t.Run("a file that is missing", func(t *testing.T) {
		t.Parallel()
		_, err := newProber(t).Probe(t.Context(), filepath.Join(t.TempDir(), "absent.mp4"), Movie{})
		require.ErrorIs(t, err, os.ErrNotExist)
		_, err = newProber(t).Probe(t.Context(), t.TempDir(), Movie{})
		require.ErrorContains(t, err, "not a regular file")
	})
}

func TestReadPackets(t *testing.T) {
	t.Parallel()
	const head = "#software: x\n#tb 0: 1/1000\n#media_type 0: video\n"
	for name, tt := range map[string]struct {
		lines  string
		micros *int64
		fps    *float64
	}{
		"none":                     {"", nil, nil},
		"out of order":             {"0, 0, 200, 100, 9, 0x1\n0, 100, 100, 100, 9, 0x1, F=0x0\n", ptr[int64](300_000), ptr(10.0)},
		"cut away by an edit list": {"0, 0, 0, 100, 9, 0x1\n0, 100, 100, 100, 9, 0x1, F=0x5\n", ptr[int64](100_000), ptr(10.0)},
		"a damaged packet counts":  {"0, 0, 0, 100, 9, 0x1\n0, 100, 100, 100, 9, 0x1, F=0x2, S=1, 12, 0x2\n", ptr[int64](200_000), ptr(10.0)},
		"no durations":             {"0, 0, 0, 0, 9, 0x1\n0, 100, 100, 0, 9, 0x1\n", ptr[int64](100_000), nil},
		"before the start":         {"0, -200, -200, 100, 9, 0x1\n", nil, ptr(10.0)},
		"without a time":           {"0, 0, -9223372036854775808, 100, 9, 0x1\n", nil, nil},
		"an impossible time":       {"0, 0, 9223372036854775807, 100, 9, 0x1\n", nil, nil},
		"a time beyond the bound":  {"0, 0, 9223372036854775000, 100, 9, 0x1\n", ptr[int64](maxMicros), ptr(10.0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := readPackets(strings.NewReader(head + tt.lines))
			require.NoError(t, err)
			require.Equal(t, tt.micros, p.durationMicros())
			require.Equal(t, tt.fps, p.fps())
		})
	}
	for _, bad := range []string{"0, 0, 0\n", "0, 0, x, 100, 9, 0x1\n", strings.Repeat("9", 2*maxLine)} {
		_, err := readPackets(strings.NewReader(head + bad))
		require.Error(t, err)
	}
	p, err := readPackets(strings.NewReader("#tb 0: 0/0\n#dimensions 0: 0x5\n0, 0, 0, 100, 9, 0x1\n"))
	require.NoError(t, err)
	require.Nil(t, p.durationMicros())
	require.Nil(t, p.fps())
	require.Zero(t, p.width)
}

func BenchmarkProbe(b *testing.B) {
	p, path := newProber(b), render(b, "plain.mp4")
	for b.Loop() {
		if _, err := p.Probe(b.Context(), path, Movie{}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestTooManyFramesPerSecond: decoding them would take hours, but only one second is billed.
func TestTooManyFramesPerSecond(t *testing.T) {
	t.Parallel()
	p := newProber(t)
	for name, c := range map[string]struct {
		pictures int
		refused  bool
	}{"as many as there may be": {1000, false}, "one more": {1001, true}} {
		clip, err := forged.Render(t.Context(), forged.Test(float64(c.pictures)/10))
		require.NoError(t, err)
		fast := forged.Times(clip, func(uint32) uint32 { return 1 })
		_, err = examine(t, p, write(t, "fast.mp4", fast))
		if !c.refused {
			require.NoError(t, err, name)
			continue
		}
		require.True(t, fault.Has(err, fault.VideoUnreadable), "%s: %v", name, err)
		require.ErrorContains(t, err, "1000 frames per second")
	}
}
