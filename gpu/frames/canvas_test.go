package frames

import (
	"bufio"
	"bytes"
	"image/jpeg"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzCanvas: any bytes of ffmpeg become a JPEG that fits the canvas, or an error.
func FuzzCanvas(f *testing.F) {
	f.Add([]byte{255, 255, 0, 255, 0, 0, 0}, []byte("frame:0 pts:0 pts_time:0.5\nat=1\n"))
	f.Add([]byte{0}, []byte("frame:9 pts:99999999999999999 pts_time:1e300\n"))
	f.Fuzz(func(t *testing.T, alpha, times []byte) {
		c := newCanvas(16)
		copy(c.planes[len(c.planes)-16*16:], alpha)
		if out, err := c.image(false); err == nil {
			size, err := jpeg.DecodeConfig(bytes.NewReader(out))
			require.NoError(t, err)
			require.LessOrEqual(t, max(size.Width, size.Height), 16)
		}
		if when, err := readTime(bufio.NewReader(bytes.NewReader(times))); err == nil {
			for _, mode := range []mode{sampled, sought, first} {
				if at := when.at(Options{FPS: .01}, mode); !(at >= 0 && at <= 1e17) {
					t.Fatal(at)
				}
			}
		}
	})
}
