package frames_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/jpeg"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/gpu/frames"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
)

// ramp is a video source with 10 frames per second. The brightness of a frame is 4 times
// its number.
const ramp = "color=black:s=64x48:r=10,format=gray,geq=lum='4*N'"

// render makes a clip with ffmpeg and returns its path.
func render(t testing.TB, name string, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	out, err := exec.CommandContext(t.Context(), "ffmpeg", append(append([]string{"-nostdin", "-v", "error"}, args...), path)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

func lavfi(source string, args ...string) []string {
	return append([]string{"-f", "lavfi", "-i", source}, args...)
}

type sample struct {
	at   float64
	size image.Point
	// brightness of the center, 0..255
	gray int
}

func collect(t testing.TB, source string, opts frames.Options) ([]sample, error) {
	t.Helper()
	var list []sample
	for f, err := range frames.Sample(t.Context(), ffmpegtest.Runner(t), source, opts) {
		if err != nil {
			return list, err
		}
		img, err := jpeg.Decode(bytes.NewReader(f.Image))
		require.NoError(t, err)
		size := img.Bounds().Size()
		r, _, _, _ := img.At(size.X/2, size.Y/2).RGBA()
		list = append(list, sample{at: f.At, size: size, gray: int(r >> 8)})
	}
	return list, nil
}

func times(list []sample) []float64 {
	var at []float64
	for _, s := range list {
		at = append(at, s.at)
	}
	return at
}

func TestSamplesShowTheInstantTheyName(t *testing.T) {
	t.Parallel()
	clip := render(t, "ramp.mp4", lavfi(ramp, "-t", "3", "-c:v", "libx264", "-bf", "0", "-qp", "1", "-color_range", "pc")...)
	list, err := collect(t, clip, frames.Options{})
	require.NoError(t, err)
	require.Equal(t, []float64{0, 0.5, 1, 1.5, 2, 2.5}, times(list))
	for _, s := range list {
		require.InDelta(t, 40*s.at, s.gray, 6, "at %v", s.at)
	}
}

// TestIntervalsOfAVideo: the frame at an instant has the same bytes with any intervals.
func TestIntervalsOfAVideo(t *testing.T) {
	t.Parallel()
	clips := map[string]string{
		"keyframes every 1.2 s": render(t, "a.mp4", lavfi(ramp, "-t", "6", "-c:v", "libx264", "-g", "12", "-bf", "2")...),
		"one keyframe":          render(t, "b.mp4", lavfi(ramp, "-t", "6", "-c:v", "libx264", "-g", "250")...),
		"frames that stay visible": render(t, "c.mp4", lavfi(ramp+",trim=end_frame=60,select='eq(n,0)+eq(n,1)+eq(n,20)+eq(n,57)'",
			"-fps_mode", "vfr", "-c:v", "libx264")...),
		"a clock that begins late": render(t, "d.mp4", lavfi(ramp, "-t", "6", "-c:v", "libx264", "-g", "12", "-output_ts_offset", "7")...),
	}
	wanted := map[string][]frames.Interval{
		"some":     {{From: 1.25, To: 1.5}, {From: 2, To: 2}, {From: 4.125, To: 4.375}},
		"the rest": {{From: 3.5, To: frames.End}},
	}
	for name, clip := range clips {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, coarse := range []bool{false, true} {
				var all []frames.Frame
				for f, err := range frames.Sample(t.Context(), ffmpegtest.Runner(t), clip, frames.Options{FPS: 8, Coarse: coarse}) {
					require.NoError(t, err)
					all = append(all, f)
				}
				require.Greater(t, len(all), 40)
				for parts, within := range wanted {
					var want, got []frames.Frame
					for _, f := range all {
						if slices.ContainsFunc(within, func(s frames.Interval) bool { return f.At >= s.From && f.At <= s.To }) {
							want = append(want, f)
						}
					}
					for f, err := range frames.Sample(t.Context(), ffmpegtest.Runner(t), clip, frames.Options{FPS: 8, Within: within, Coarse: coarse}) {
						require.NoError(t, err)
						got = append(got, f)
					}
					require.NotEmpty(t, want)
					require.Empty(t, cmp.Diff(want, got), "%s, coarse: %t", parts, coarse)
				}
			}
		})
	}
}

func TestMaxIntervals(t *testing.T) {
	t.Parallel()
	clip := render(t, "ramp.mp4", lavfi("color=s=32x32:r=4:d=130", "-c:v", "libx264")...)
	opts := frames.Options{FPS: 4}
	for i := range frames.MaxIntervals {
		opts.Within = append(opts.Within, frames.Interval{From: 2*float64(i) + .25, To: 2*float64(i) + .75})
	}
	list, err := collect(t, clip, opts)
	require.NoError(t, err)
	require.Len(t, list, 3*frames.MaxIntervals)
}

// TestLateInstantsAreExact: ffmpeg prints only six digits of a time.
func TestLateInstantsAreExact(t *testing.T) {
	t.Parallel()
	clip := render(t, "long.mp4", lavfi("color=s=32x32:r=1/10:d=12000", "-c:v", "libx264", "-g", "10")...)
	list, err := collect(t, clip, frames.Options{FPS: 8, Within: []frames.Interval{{From: 11000.125, To: 11000.375}}})
	require.NoError(t, err)
	require.Equal(t, []float64{11000.125, 11000.25, 11000.375}, times(list))
}

func TestIntervalsBeyondTheEnd(t *testing.T) {
	t.Parallel()
	clip := render(t, "ramp.mp4", lavfi(ramp, "-t", "2", "-c:v", "libx264")...)
	list, err := collect(t, clip, frames.Options{Within: []frames.Interval{{From: 60, To: 61}}})
	require.NoError(t, err, "an empty interval after the end is not an error")
	require.Empty(t, list)
}

func TestVariableFrameRate(t *testing.T) {
	t.Parallel()
	// Only the frames of 0, 0.1 and 2.0 s are kept: the second one stays visible until 2.0
	// s.
	clip := render(t, "vfr.mp4", lavfi(ramp+",trim=end_frame=30,select='eq(n,0)+eq(n,1)+eq(n,20)'", "-fps_mode", "vfr", "-c:v", "libx264", "-qp", "1", "-color_range", "pc")...)
	list, err := collect(t, clip, frames.Options{})
	require.NoError(t, err)
	require.Equal(t, []float64{0, 0.5, 1, 1.5, 2}, times(list)[:5])
	for i, want := range []int{0, 4, 4, 4, 80} {
		require.InDelta(t, want, list[i].gray, 4, "sample %d", i)
	}
}

func TestLateVideoTracksKeepTheirTime(t *testing.T) {
	t.Parallel()
	clip := render(t, "late.mp4", "-f", "lavfi", "-i", "sine=d=4", "-itsoffset", "1.2", "-f", "lavfi", "-i", "testsrc=s=64x48:r=10:d=2",
		"-map", "0", "-map", "1", "-fps_mode", "passthrough", "-c:v", "libx264", "-c:a", "aac")
	list, err := collect(t, clip, frames.Options{})
	require.NoError(t, err)
	require.Equal(t, []float64{1.5, 2, 2.5, 3}, times(list))
}

func TestAtLeastOneFrame(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"one frame":        {"-frames:v", "1", "-c:v", "libx264"},
		"two short frames": {"-frames:v", "2", "-c:v", "libx264"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clip := render(t, "short.mp4", lavfi("testsrc=s=64x48:r=30", args...)...)
			for _, fps := range []float64{0.1, 2} {
				list, err := collect(t, clip, frames.Options{FPS: fps})
				require.NoError(t, err)
				require.Equal(t, []float64{0}, times(list), "fps %v", fps)
			}
		})
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		source string
		args   []string
		want   image.Point
	}{
		"landscape":         {"testsrc=s=1280x720", nil, image.Pt(640, 360)},
		"portrait":          {"testsrc=s=540x960", nil, image.Pt(360, 640)},
		"never enlarged":    {"testsrc=s=64x48", nil, image.Pt(64, 48)},
		"anamorphic":        {"testsrc=s=720x576,setsar=64/45", nil, image.Pt(640, 360)},
		"tall pixels":       {"testsrc=s=320x160,setsar=1/2", nil, image.Pt(320, 320)},
		"tall, too large":   {"testsrc=s=640x640,setsar=1/2", nil, image.Pt(320, 640)},
		"extremely thin":    {"testsrc=s=2048x2", nil, image.Pt(640, 1)},
		"extremely narrow":  {"testsrc=s=2x2048", nil, image.Pt(2, 640)},
		"ten bits":          {"testsrc=s=960x540,format=yuv420p10", nil, image.Pt(640, 360)},
		"with transparency": {"testsrc=s=960x540,format=yuva420p", []string{"-c:v", "png"}, image.Pt(640, 360)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clip := render(t, "clip.mov", lavfi(tc.source, append(tc.args, "-frames:v", "3")...)...)
			list, err := collect(t, clip, frames.Options{})
			require.NoError(t, err)
			require.Equal(t, tc.want, list[0].size)
		})
	}
}

func TestColorsSurvive(t *testing.T) {
	t.Parallel()
	// This is the same red in three codings. Read with the wrong one it is off by 15 or
	// more.
	for name, args := range map[string][]string{
		"BT.601":             {"-vf", "scale=out_color_matrix=bt601,format=yuv444p", "-colorspace", "bt470bg"},
		"BT.709":             {"-vf", "scale=out_color_matrix=bt709,format=yuv444p", "-colorspace", "bt709"},
		"BT.709, full range": {"-vf", "scale=out_color_matrix=bt709:out_range=pc,format=yuv444p", "-colorspace", "bt709", "-color_range", "pc"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := lavfi("color=0xC81428:s=64x48:r=10,format=rgb24", args...)
			clip := render(t, "red.mp4", append(source, "-frames:v", "3", "-c:v", "libx264", "-qp", "1")...)
			for f, err := range frames.Sample(t.Context(), ffmpegtest.Runner(t), clip, frames.Options{}) {
				require.NoError(t, err)
				img, err := jpeg.Decode(bytes.NewReader(f.Image))
				require.NoError(t, err)
				r, g, b, _ := img.At(32, 24).RGBA()
				require.InDeltaSlice(t, []int{200, 20, 40}, []int{int(r >> 8), int(g >> 8), int(b >> 8)}, 6)
			}
		})
	}
}

// TestFramesHaveTheBestQuality reads the quantization table of the brightness. Its
// largest step is 10 at quality 1 and 20 at quality 2.
func TestFramesHaveTheBestQuality(t *testing.T) {
	t.Parallel()
	clip := render(t, "clip.mp4", lavfi("testsrc=s=64x48", "-frames:v", "3", "-c:v", "libx264")...)
	for f, err := range frames.Sample(t.Context(), ffmpegtest.Runner(t), clip, frames.Options{}) {
		require.NoError(t, err)
		at := bytes.Index(f.Image, []byte{0xff, 0xdb})
		require.Positive(t, at, "a table")
		require.LessOrEqual(t, slices.Max(f.Image[at+5:at+5+64]), byte(10))
	}
}

func TestRotationIsApplied(t *testing.T) {
	t.Parallel()
	clip := render(t, "turned.mp4", lavfi("testsrc=s=960x540", "-frames:v", "3", "-c:v", "libx264")...)
	content, err := os.ReadFile(clip)
	require.NoError(t, err)
	// This is the display matrix of the first track, a quarter turn (ISO/IEC 14496-12,
	// track header of version 0).
	at := bytes.Index(content, []byte("tkhd"))
	require.Positive(t, at)
	for i, v := range []uint32{0, 1 << 16, 0, 0xFFFF0000, 0, 0, 270 << 16, 0, 1 << 30} {
		binary.BigEndian.PutUint32(content[at+4+40+4*i:], v)
	}
	require.NoError(t, os.WriteFile(clip, content, 0o600))
	list, err := collect(t, clip, frames.Options{})
	require.NoError(t, err)
	require.Equal(t, image.Pt(360, 640), list[0].size)
}

func TestUnreadableSources(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	good := render(t, "good.mp4", lavfi("testsrc=s=64x48", "-t", "1", "-c:v", "libx264")...)
	bytes, err := os.ReadFile(good)
	require.NoError(t, err)
	for name, path := range map[string]string{
		"text":                 write("text.mp4", "this is not a video"),
		"empty":                write("empty.mp4", ""),
		"cut off before moov":  write("cut.mp4", string(bytes[:len(bytes)/2])),
		"sound only":           render(t, "sound.m4a", lavfi("sine=d=1")...),
		"playlist in disguise": write("list.mp4", "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n"+good+"\n#EXT-X-ENDLIST\n"),
		"concat list":          write("concat.mp4", "ffconcat version 1.0\nfile '"+good+"'\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, err := collect(t, path, frames.Options{})
			unreadable, ok := errors.AsType[*frames.UnreadableError](err)
			require.True(t, ok, "%v", err)
			require.NotEmpty(t, unreadable.Reason)
			require.LessOrEqual(t, len(unreadable.Reason), 2048)
			require.Empty(t, list)
		})
	}
	for name, path := range map[string]string{
		"missing":              filepath.Join(dir, "missing.mp4"),
		"missing folder":       filepath.Join(dir, "away", "missing.mp4"),
		"protocol in the path": "concat:" + good,
		"option as the path":   "-version",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := collect(t, path, frames.Options{})
			require.ErrorIs(t, err, frames.ErrUnreachable)
		})
	}
}

func TestOptionsOutOfRange(t *testing.T) {
	t.Parallel()
	for _, opts := range []frames.Options{{FPS: -1}, {FPS: 61}, {LongSide: 8}, {LongSide: 5000}, {Stall: -1},
		{Within: []frames.Interval{{From: -1}}}, {Within: []frames.Interval{{From: 2, To: 1}}}, {Within: []frames.Interval{{From: 2, To: 3}, {From: 1, To: 4}}},
		{Within: make([]frames.Interval, frames.MaxIntervals+1)}} {
		_, err := collect(t, "any.mp4", opts)
		require.Error(t, err, "%+v", opts)
		_, unreadable := errors.AsType[*frames.UnreadableError](err)
		require.False(t, unreadable)
	}
}

func TestCoarseKeepsTheGrid(t *testing.T) {
	t.Parallel()
	clip := render(t, "ramp.mp4", lavfi(ramp, "-t", "4", "-c:v", "libx264", "-bf", "2", "-qp", "1", "-color_range", "pc")...)
	exact, err := collect(t, clip, frames.Options{})
	require.NoError(t, err)
	coarse, err := collect(t, clip, frames.Options{Coarse: true})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(times(exact), times(coarse)))
	for i := range exact {
		require.InDelta(t, exact[i].gray, coarse[i].gray, 4*3+2, "sample %d is older than two B-frames", i)
	}
}

func BenchmarkSample(b *testing.B) {
	clip := render(b, "bench.mp4", lavfi("testsrc2=s=1280x720:r=30", "-t", "10", "-c:v", "libx264", "-preset", "veryfast")...)
	for name, opts := range map[string]frames.Options{"exact": {}, "coarse": {Coarse: true}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				count := 0
				for _, err := range frames.Sample(b.Context(), ffmpegtest.Runner(b), clip, opts) {
					if err != nil {
						b.Fatal(err)
					}
					count++
				}
				b.ReportMetric(float64(count), "frames")
			}
		})
	}
}
