package probe

import (
	"bytes"
	"context"
	"encoding/binary"
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
	"vqa/handlers/media/ffmpeg"
	"vqa/handlers/media/ffmpeg/ffmpegtest"
)

func newProber(t testing.TB) *Prober {
	t.Helper()
	p, err := New(ffmpegtest.Runner(t))
	require.NoError(t, err)
	return p
}

// render makes a clip with ffmpeg: two seconds of a test picture, 320x180 at
// 30000/1001 frames a second, unless args say otherwise.
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
	front := read(t, render(t, "front.mp4", append(x264, "-movflags", "+faststart")...))
	media := bytes.Index(front, []byte("mdat"))
	require.Positive(t, media)
	half := media + (len(front)-media)/2
	cases := []struct {
		name, path string
		want       Video
	}{
		{"mp4", plain, Video{DurationS: ptr(2.002), Width: ptr(320), Height: ptr(180), FPS: ptr(30000.0 / 1001), Decoded: true}},
		{"mov, with sound, a whole frame rate", render(t, "a.mov", append(x264, "-r", "25", "-c:a", "aac", "-t", "1")...),
			Video{DurationS: ptr(1.0), Width: ptr(320), Height: ptr(180), FPS: ptr(25.0), Decoded: true}},
		{"turned by 90 degrees", write(t, "turned.mp4", turned(t, read(t, plain))),
			Video{DurationS: ptr(2.002), Width: ptr(180), Height: ptr(320), FPS: ptr(30000.0 / 1001), Decoded: true}},
		{"one frame", render(t, "one.mp4", append(x264, "-frames:v", "1", "-r", "10")...),
			Video{DurationS: ptr(0.1), Width: ptr(320), Height: ptr(180), FPS: ptr(10.0), Decoded: true}},
		{"fragmented", render(t, "frag.mp4", append(x264, "-movflags", "+frag_keyframe+empty_moov", "-an", "-r", "25", "-t", "1")...),
			Video{DurationS: ptr(1.0), Width: ptr(320), Height: ptr(180), FPS: ptr(25.0), Decoded: true}},
		{"cut behind its first frames", write(t, "half.mp4", front[:half]),
			Video{DurationS: ptr(2.002), Width: ptr(320), Height: ptr(180), FPS: ptr(30000.0 / 1001), Decoded: true}},
		{"a name that looks like an option or a protocol", func() string {
			return write(t, "-i http:x.mp4", read(t, plain))
		}(), Video{DurationS: ptr(2.002), Width: ptr(320), Height: ptr(180), FPS: ptr(30000.0 / 1001), Decoded: true}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := p.Probe(t.Context(), c.path)
			require.NoError(t, err)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestProbeUnreadable(t *testing.T) {
	t.Parallel()
	p := newProber(t)
	plain := read(t, render(t, "plain.mp4"))
	front := read(t, render(t, "front.mp4", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-movflags", "+faststart"))
	media := bytes.Index(front, []byte("mdat"))
	picture := render(t, "cover.png", "-frames:v", "1")
	secret := render(t, "secret.mp4")
	cover := filepath.Join(t.TempDir(), "cover.mp4")
	out, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "sine=duration=1", "-i", picture,
		"-map", "0", "-map", "1", "-c:a", "aac", "-c:v", "png", "-disposition:v:0", "attached_pic", cover).CombinedOutput()
	require.NoError(t, err, "%s", out)
	cases := map[string]string{
		"no bytes":                         write(t, "zero.mp4", nil),
		"text":                             write(t, "text.mp4", []byte(strings.Repeat("this is no video\n", 1000))),
		"a playlist of another file":       write(t, "list.mp4", []byte("#EXTM3U\n#EXTINF:2,\nfile://"+secret+"\n#EXT-X-ENDLIST\n")),
		"a concat script":                  write(t, "concat.mp4", []byte("ffconcat version 1.0\nfile '"+secret+"'\n")),
		"moov at the end, cut":             write(t, "cut.mp4", plain[:len(plain)/2]),
		"moov at the front, no media":      write(t, "head.mp4", front[:media+8]),
		"moov at the front, media blanked": write(t, "blank.mp4", append(bytes.Clone(front[:media+4]), make([]byte, len(front)-media-4)...)),
		"moov cut":                         write(t, "moov.mp4", front[:media/2]),
		"sound only":                       render(t, "sound.mp4", "-vn", "-map", "1", "-c:a", "aac"),
		"sound with a cover picture":       cover,
		"matroska named mp4":               write(t, "mkv.mp4", read(t, render(t, "a.mkv"))),
	}
	for name, path := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := p.Probe(t.Context(), path)
			require.True(t, fault.Has(err, fault.VideoUnreadable), "%v, %+v", err, got)
			require.Empty(t, cmp.Diff(Video{}, got))
		})
	}
}

// A source of our own store that is no folder is a signed URL.
func TestProbeURL(t *testing.T) {
	t.Parallel()
	p := newProber(t)
	dir := filepath.Dir(render(t, "plain.mp4"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "text.mp4"), []byte("text"), 0o600))
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	got, err := p.Probe(t.Context(), server.URL+"/plain.mp4?signature=x")
	require.NoError(t, err)
	require.Equal(t, 320, *got.Width)
	_, err = p.Probe(t.Context(), server.URL+"/text.mp4")
	require.True(t, fault.Has(err, fault.VideoUnreadable), "%v", err)
	_, err = p.Probe(t.Context(), server.URL+"/absent.mp4?signature=secret")
	require.Error(t, err)
	require.Nil(t, fault.Of(err), "a source that cannot be reached says nothing about the video")
	require.NotContains(t, err.Error(), "secret")
}

// tool is a script in the place of ffprobe or ffmpeg, to bring about what no file
// does reliably.
func tool(t *testing.T, script string) string {
	t.Helper()
	path := write(t, "tool", []byte("#!/bin/sh\n"+script+"\n"))
	require.NoError(t, os.Chmod(path, 0o700))
	return path
}

func TestProbeLimits(t *testing.T) {
	t.Parallel()
	plain := render(t, "plain.mp4")
	probe := func(t *testing.T, ctx context.Context, change func(*Prober)) (Video, error) {
		p := newProber(t)
		change(p)
		return p.Probe(ctx, plain)
	}
	t.Run("no time for the metadata", func(t *testing.T) {
		t.Parallel()
		got, err := probe(t, t.Context(), func(p *Prober) { p.ffprobe, p.timeout = tool(t, "exec sleep 60"), 100*time.Millisecond })
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(Video{}, got))
	})
	t.Run("no time for the frame", func(t *testing.T) {
		t.Parallel()
		got, err := probe(t, t.Context(), func(p *Prober) {
			p.ffprobe = tool(t, `echo '{"streams":[{"width":320,"height":180}]}'`)
			slow, err := ffmpeg.New(t.Context(), tool(t, `case "$*" in *framecrc*) exec sleep 60; esac; exec `+p.ffmpeg.Path()+` "$@"`))
			require.NoError(t, err)
			p.ffmpeg, p.timeout = slow, 2*time.Second
		})
		require.NoError(t, err)
		require.Equal(t, 320, *got.Width)
		require.False(t, got.Decoded)
	})
	t.Run("the caller gives up", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := probe(t, ctx, func(p *Prober) { p.ffprobe = tool(t, "exec sleep 60") })
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
	t.Run("endless output", func(t *testing.T) {
		t.Parallel()
		_, err := probe(t, t.Context(), func(p *Prober) { p.ffprobe = tool(t, "exec yes") })
		require.True(t, fault.Has(err, fault.VideoUnreadable), "%v", err)
		require.ErrorIs(t, err, errOutputTooLong)
	})
	t.Run("limits and environment reach the process", func(t *testing.T) {
		t.Parallel()
		seen := filepath.Join(t.TempDir(), "seen")
		// The script waits for its limits. A pipe is not a regular file, so the file
		// limit lets it speak and yet write nothing.
		out, err := run(t.Context(), "x", tool(t, `until [ "$(ulimit -v) $(ulimit -t) $(ulimit -f) $(ulimit -c)" = "2097152 20 0 0" ]; do :; done
			(echo x > `+seen+`) 2>/dev/null
			echo limited$HOME$VQA_DATABASE_URL`))
		require.NoError(t, err)
		require.Equal(t, "limited\n", string(out))
		body, err := os.ReadFile(seen)
		require.NoError(t, err)
		require.Empty(t, body)
	})
	t.Run("a tool that is missing", func(t *testing.T) {
		t.Parallel()
		_, err := probe(t, t.Context(), func(p *Prober) { p.ffprobe = "/nonexistent/ffprobe" })
		require.ErrorIs(t, err, os.ErrNotExist)
		require.Nil(t, fault.Of(err))
	})
	t.Run("a file that is missing", func(t *testing.T) {
		t.Parallel()
		_, err := newProber(t).Probe(t.Context(), filepath.Join(t.TempDir(), "absent.mp4"))
		require.ErrorIs(t, err, os.ErrNotExist)
		_, err = newProber(t).Probe(t.Context(), t.TempDir())
		require.ErrorContains(t, err, "not a regular file")
	})
}

func TestParse(t *testing.T) {
	t.Parallel()
	size := func(w, h int) Video { return Video{Width: ptr(w), Height: ptr(h)} }
	cases := []struct {
		name, json string
		want       Video
	}{
		{"nothing known", `{"streams":[{}]}`, Video{}},
		{"duration of the stream", `{"streams":[{"duration":"1.5"}],"format":{"duration":"0.000000"}}`, Video{DurationS: ptr(1.5)}},
		{"duration of the container first", `{"streams":[{"duration":"1.5"}],"format":{"duration":"2.5"}}`, Video{DurationS: ptr(2.5)}},
		{"nonsense", `{"streams":[{"duration":"N/A","avg_frame_rate":"0/0"}],"format":{"duration":"-1"}}`, Video{}},
		{"not finite", `{"streams":[{"duration":"inf","avg_frame_rate":"1/0"}],"format":{"duration":"nan"}}`, Video{}},
		{"exact rate", `{"streams":[{"avg_frame_rate":"24000/1001"}]}`, Video{FPS: ptr(24000.0 / 1001)}},
		{"half a size", `{"streams":[{"width":100}]}`, Video{}},
		{"rotated by -90", `{"streams":[{"width":2,"height":1,"side_data_list":[{},{"rotation":-90}]}]}`, size(1, 2)},
		{"rotated by 270, a fraction", `{"streams":[{"width":2,"height":1,"side_data_list":[{"rotation":269.99}]}]}`, size(1, 2)},
		{"rotated by 180", `{"streams":[{"width":2,"height":1,"side_data_list":[{"rotation":180}]}]}`, size(2, 1)},
		{"rotated by a tag", `{"streams":[{"width":2,"height":1,"tags":{"rotate":"90"}}]}`, size(1, 2)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := parse([]byte(c.json))
			require.NoError(t, err)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	_, err := parse([]byte(`{"streams":[]}`))
	require.True(t, fault.Has(err, fault.VideoUnreadable))
	_, err = parse([]byte(`{`))
	require.Error(t, err)
}

func BenchmarkProbe(b *testing.B) {
	p, path := newProber(b), render(b, "plain.mp4")
	for b.Loop() {
		if _, err := p.Probe(b.Context(), path); err != nil {
			b.Fatal(err)
		}
	}
}
