package decode_test

import (
	"bytes"
	"encoding/binary"
	"image/jpeg"
	"io"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/handlers/intake/ffmpeg"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
	"vqa/streaming/assemble"
)

// ticks of one picture at 30 per second.
const ticks = assemble.ClockRate / 30

// arrival is the time at which the picture 0 arrives.
var arrival = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// drawn returns the luma and chroma of a picture that shows its number in eight bars.
func drawn(width, height, number int) []byte {
	p := bytes.Repeat([]byte{128}, width*height+2*((width+1)/2)*((height+1)/2))
	for y := range height {
		for x := range width {
			p[y*width+x] = 16
			if number>>(x*8/width)&1 == 1 {
				p[y*width+x] = 235
			}
		}
	}
	return p
}

// number reads the number from a JPEG, and its size.
func number(t testing.TB, data []byte) (n, width, height int) {
	t.Helper()
	img, err := jpeg.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	b := img.Bounds()
	for i := range 8 {
		if r, _, _, _ := img.At((2*i+1)*b.Dx()/16, b.Dy()/2).RGBA(); r > 1<<15 {
			n |= 1 << i
		}
	}
	return n, b.Dx(), b.Dy()
}

// textured returns a picture of moving stripes, which takes the whole bit rate of 1 Mbit/s.
func textured(width, height, number int) []byte {
	p := bytes.Repeat([]byte{128}, width*height*3/2)
	for y := range height {
		for x := range width {
			p[y*width+x] = byte(16 + ((x+3*number)*(y+number)>>6)%200)
		}
	}
	return p
}

// encode returns pictures with the numbers from first on, a keyframe every 30.
func encode(t testing.TB, codec assemble.Codec, width, height, first, n int) []assemble.Picture {
	t.Helper()
	return encodeDrawn(t, codec, width, height, first, n, drawn)
}

func encodeDrawn(t testing.TB, codec assemble.Codec, width, height, first, n int, draw func(width, height, number int) []byte, more ...string) []assemble.Picture {
	t.Helper()
	args := map[assemble.Codec][]string{
		assemble.H264: {"-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-sc_threshold", "0", "-x264-params", "aud=1", "-f", "h264"},
		assemble.VP8:  {"-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-lag-in-frames", "0", "-auto-alt-ref", "0", "-f", "ivf"},
		assemble.VP9:  {"-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-lag-in-frames", "0", "-auto-alt-ref", "0", "-f", "ivf"},
	}[codec]
	size := strconv.Itoa(width) + "x" + strconv.Itoa(height)
	p, err := ffmpegtest.Runner(t).Start(t.Context(), ffmpeg.Job{
		InputArgs:  []string{"-f", "rawvideo", "-pix_fmt", "yuv420p", "-video_size", size, "-framerate", "30"},
		OutputArgs: append(append(append([]string{"-g", "30", "-keyint_min", "30", "-b:v", "1M"}, args...), more...), "pipe:1"),
	})
	require.NoError(t, err)
	go func() {
		for i := range n {
			if _, err := p.Stdin.Write(draw(width, height, first+i)); err != nil {
				break
			}
		}
		_ = p.Stdin.Close()
	}()
	out, err := io.ReadAll(p.Stdout)
	require.NoError(t, err)
	require.NoError(t, p.Wait())
	var frames []assemble.Picture
	for i, data := range split(codec, out) {
		frames = append(frames, assemble.Picture{
			Codec: codec, Key: i%30 == 0, Time: int64(first+i) * ticks, Width: width, Height: height, Data: data,
			At: arrival.Add(time.Duration(first+i) * time.Second / 30),
		})
	}
	require.Len(t, frames, n)
	return frames
}

// split returns the pictures of an encoder's output.
func split(codec assemble.Codec, out []byte) [][]byte {
	var pictures [][]byte
	if codec == assemble.H264 {
		delimiter := []byte{0, 0, 0, 1, 9}
		for _, p := range bytes.Split(out, delimiter)[1:] {
			pictures = append(pictures, append(bytes.Clone(delimiter), p...))
		}
		return pictures
	}
	for out = out[32:]; len(out) >= 12; {
		n := int(binary.LittleEndian.Uint32(out))
		pictures = append(pictures, out[12:12+n])
		out = out[12+n:]
	}
	return pictures
}
