package frames_test

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/gpu/frames"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
)

// part is one second of 10 frames of a video.
type part struct{ atS, size string }

// joined makes a clip of parts, as recorders of WebRTC write them: the headers of the next part stand
// in the stream.
func joined(t *testing.T, parts ...part) string {
	t.Helper()
	var stream []byte
	for _, p := range parts {
		content, err := os.ReadFile(render(t, "part.ts", lavfi("testsrc=r=10:d=1:s="+p.size, "-c:v", "libx264", "-bf", "0", "-pix_fmt", "yuv420p", "-output_ts_offset", p.atS)...))
		require.NoError(t, err)
		stream = append(stream, content...)
	}
	whole := filepath.Join(t.TempDir(), "whole.ts")
	require.NoError(t, os.WriteFile(whole, stream, 0o600))
	return render(t, "joined.mp4", "-i", whole, "-c", "copy")
}

// TestEachPartKeepsItsShape: a frame has the shape that the video has at its instant.
func TestEachPartKeepsItsShape(t *testing.T) {
	t.Parallel()
	const wide, tall = "960x240", "240x960"
	for name, c := range map[string]struct {
		parts []part
		want  []image.Point // at 0, 0.5, 1 s and so on
	}{
		"turned":          {[]part{{"0", wide}, {"1", tall}}, []image.Point{{640, 160}, {640, 160}, {160, 640}, {160, 640}}},
		"turned and back": {[]part{{"0", wide}, {"1", tall}, {"2", wide}}, []image.Point{{640, 160}, {640, 160}, {160, 640}, {160, 640}, {640, 160}, {640, 160}}},
		"turned in a pause": {[]part{{"0", wide}, {"2.5", tall}},
			[]image.Point{{640, 160}, {640, 160}, {640, 160}, {640, 160}, {640, 160}, {160, 640}, {160, 640}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clip := joined(t, c.parts...)
			list, err := collect(t, clip, frames.Options{})
			require.NoError(t, err)
			require.Len(t, list, len(c.want))
			for i, s := range list {
				require.Equal(t, float64(i)/2, s.at)
				require.Equal(t, c.want[i], s.size, "at %v", s.at)
			}
			last := float64(len(c.want)-1) / 2
			list, err = collect(t, clip, frames.Options{Within: []frames.Interval{{From: last, To: last}}})
			require.NoError(t, err)
			require.Equal(t, c.want[len(c.want)-1], list[0].size, "sought")
		})
	}
}

// TestPPM compares the files of both formats, for a picture with odd sides and one that changes its shape.
func TestPPM(t *testing.T) {
	t.Parallel()
	clip := joined(t, part{"0", "642x354"}, part{"1", "354x642"})
	var jpegs, ppms []frames.Frame
	for list, opts := range map[*[]frames.Frame]frames.Options{&jpegs: {LongSide: 201}, &ppms: {LongSide: 201, PPM: true}} {
		for f, err := range frames.Sample(t.Context(), ffmpegtest.Runner(t), clip, opts) {
			require.NoError(t, err)
			*list = append(*list, f)
		}
	}
	require.Len(t, ppms, 4)
	require.Len(t, jpegs, 4)
	for i, f := range ppms {
		want, err := jpeg.Decode(bytes.NewReader(jpegs[i].Image))
		require.NoError(t, err)
		size := want.Bounds().Size()
		header := fmt.Sprintf("P6\n%d %d\n255\n", size.X, size.Y)
		require.Equal(t, header, string(f.Image[:len(header)]))
		pixels := f.Image[len(header):]
		require.Len(t, pixels, 3*size.X*size.Y)
		off := 0.
		for at := range size.X * size.Y {
			r, g, b, _ := want.At(at%size.X, at/size.X).RGBA()
			for k, c := range []uint32{r, g, b} {
				off += math.Abs(float64(c>>8) - float64(pixels[3*at+k]))
			}
		}
		require.Less(t, off/float64(len(pixels)), 2.5, "the mean difference of a color, of 255")
	}
}

// TestMapChoosesTheTrack by its id.
func TestMapChoosesTheTrack(t *testing.T) {
	t.Parallel()
	clip := render(t, "two.mp4", "-f", "lavfi", "-i", "testsrc=s=64x48:r=10:d=1", "-f", "lavfi", "-i", "testsrc=s=96x48:r=10:d=1",
		"-map", "0", "-map", "1", "-c:v", "libx264")
	list, err := collect(t, clip, frames.Options{Map: "0:i:2"})
	require.NoError(t, err)
	require.Equal(t, image.Pt(96, 48), list[0].size)
}
