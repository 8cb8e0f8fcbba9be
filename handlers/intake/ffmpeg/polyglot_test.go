package ffmpeg_test

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/jpeg"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/evidence"
	"vqa/gpu/frames"
	"vqa/handlers/artifact"
	"vqa/handlers/intake/ffmpeg"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
	"vqa/handlers/intake/probe"
)

// polyglot writes a file with two formats. A program that guesses the format takes it for a raw
// H.264 stream of 1280x720. For the MP4 demuxer it is an MP4 file of 64x64 and one second. The
// start code of the first NAL unit, 00 00 01 09, is the length of an atom that the MP4 demuxer
// skips. After it, in a filler NAL unit, an unknown atom starts that contains the raw stream.
func polyglot(t *testing.T) string {
	t.Helper()
	read := func(path string) []byte {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		return content
	}
	x264 := []string{"-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"}
	raw := read(render(t, "raw.h264", append([]string{"-f", "lavfi", "-i", "testsrc=s=1280x720:r=10", "-t", "5"}, x264...)...))
	small := read(render(t, "small.mp4", append([]string{"-f", "lavfi", "-i", "testsrc=s=64x64:r=10", "-t", "1", "-movflags", "+faststart"}, x264...)...))
	file := []byte{0, 0, 1, 9, 0xf0, 0, 0, 1, 12}
	file = append(file, bytes.Repeat([]byte{0xff}, 0x109-len(file))...)
	file = binary.BigEndian.AppendUint32(file, uint32(8+len(raw)))
	file = append(append(append(file, "zzzz"...), raw...), move(t, small, len(file)+8+len(raw)-4)...)
	path := filepath.Join(t.TempDir(), "polyglot.mp4")
	require.NoError(t, os.WriteFile(path, file, 0o600))
	return path
}

// move corrects the offsets in an MP4 file for a number of bytes that were put before it.
func move(t *testing.T, mp4 []byte, by int) []byte {
	t.Helper()
	mp4 = bytes.Clone(mp4)
	at := bytes.Index(mp4, []byte("stco"))
	require.Positive(t, at)
	chunks := mp4[at+4+4:]
	for i := range binary.BigEndian.Uint32(chunks) {
		entry := chunks[4+4*i:]
		binary.BigEndian.PutUint32(entry, binary.BigEndian.Uint32(entry)+uint32(by))
	}
	return mp4
}

// TestAPolyglotIsTheSameEverywhere: the same stream is probed, billed and decoded.
func TestAPolyglotIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	path, runner := polyglot(t), ffmpegtest.Runner(t)
	// A program that guesses takes the file for the raw stream.
	guessed, err := exec.CommandContext(t.Context(), "ffmpeg", "-nostdin", "-v", "error", "-i", path, "-frames:v", "1", "-f", "framecrc", "-").Output()
	require.NoError(t, err)
	require.Contains(t, string(guessed), "1280x720")

	prober := probe.New(runner)
	found, err := prober.Probe(t.Context(), path, probe.Movie{})
	require.NoError(t, err)
	require.Equal(t, []int{64, 64}, []int{*found.Width, *found.Height})
	require.EqualValues(t, 1_000_000, *found.DurationMicros)

	count := 0
	for f, err := range frames.Sample(t.Context(), runner, path, frames.Options{}) {
		require.NoError(t, err)
		size, err := jpeg.DecodeConfig(bytes.NewReader(f.Image))
		require.NoError(t, err)
		require.Equal(t, []int{64, 64}, []int{size.Width, size.Height})
		count++
	}
	require.Equal(t, 2, count, "one second at two frames a second")

	files, err := artifact.Render(t.Context(), runner, artifact.Input{
		Source: ffmpeg.Source{Name: path}, Size: image.Pt(64, 64), FPS: 10, Question: strings.Repeat("?", 3), Evidence: evidence.Evidence{DurationS: 1, IntervalS: .5},
	}, t.TempDir())
	require.NoError(t, err)
	drawn, err := prober.Probe(t.Context(), files.Video, probe.Movie{})
	require.NoError(t, err)
	require.Equal(t, 640, *drawn.Width, "a square of 64 is enlarged to 640, a picture of 1280x720 reduced to 960")
	require.InDelta(t, 1_000_000, *drawn.DurationMicros, 10_000)
}
