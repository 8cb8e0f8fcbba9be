package frames

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"strings"
)

// jpegQuality has steps of at most 10 in the quantization of brightness, as ffmpeg's quality 1.
const jpegQuality = 96

// canvas is a square of canvasSide pixels with a frame at the top left. All canvases of a video have
// one size, because an encoder of ffmpeg stretches later frames to the size of the first. The alpha
// plane says where the frame is: 255 inside and 0 outside.
type canvas struct {
	side   int
	planes []byte // Y, U, V and alpha
}

// canvasSide is LongSide or one more: the filter pad makes no square with odd sides.
func canvasSide(opts Options) int { return opts.LongSide + opts.LongSide%2 }

func newCanvas(side int) canvas {
	half := side / 2
	return canvas{side: side, planes: make([]byte, 2*side*side+2*half*half)}
}

// read reads the next canvas. It returns io.EOF at the end.
func (c canvas) read(r io.Reader) error {
	_, err := io.ReadFull(r, c.planes)
	return err
}

// image encodes the frame as PPM or JPEG.
func (c canvas) image(ppm bool) ([]byte, error) {
	luma, half := c.side*c.side, c.side/2
	chroma := half * half
	alpha := c.planes[luma+2*chroma:]
	width, height := 0, 0
	for width < c.side && alpha[width] == 255 {
		width++
	}
	for height < c.side && alpha[height*c.side] == 255 {
		height++
	}
	if width == 0 {
		return nil, errors.New("a canvas has no frame")
	}
	frame := image.YCbCr{
		Y: c.planes[:luma], Cb: c.planes[luma : luma+chroma], Cr: c.planes[luma+chroma : luma+2*chroma],
		YStride: c.side, CStride: half, SubsampleRatio: image.YCbCrSubsampleRatio420, Rect: image.Rect(0, 0, width, height),
	}
	if ppm {
		return encodePPM(&frame), nil
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, &frame, &jpeg.Options{Quality: jpegQuality}); err != nil {
		return nil, fmt.Errorf("encode a frame: %w", err)
	}
	return out.Bytes(), nil
}

// encodePPM converts full range BT.601, as a decoder of JPEG does.
func encodePPM(frame *image.YCbCr) []byte {
	width, height := frame.Rect.Dx(), frame.Rect.Dy()
	out := fmt.Appendf(make([]byte, 0, 32+3*width*height), "P6\n%d %d\n255\n", width, height)
	for y := range height {
		luma, cb, cr := frame.Y[y*frame.YStride:][:width], frame.Cb[y/2*frame.CStride:], frame.Cr[y/2*frame.CStride:]
		for x, value := range luma {
			r, g, b := color.YCbCrToRGB(value, cb[x/2], cr[x/2])
			out = append(out, r, g, b)
		}
	}
	return out
}

// maxTimeLines bounds the lines for one time. ffmpeg writes two.
const maxTimeLines = 16

// stamp is the time of a frame as ffmpeg reports it.
type stamp struct {
	// first is true for the first frame of new filters.
	first bool
	// number counts steps of the grid, if there is one.
	number int64
	// seconds are rounded to six digits, which is not exact beyond 1000 s.
	seconds float64
}

// at is the exact time in seconds.
func (s stamp) at(opts Options, mode mode) float64 {
	if mode == first {
		return max(0, s.seconds)
	}
	return max(0, float64(s.number)/opts.FPS)
}

// readTime reads up to the next `frame:N pts:P pts_time:S` line.
func readTime(r *bufio.Reader) (stamp, error) {
	for range maxTimeLines {
		line, err := readLine(r)
		if err != nil {
			return stamp{}, fmt.Errorf("read the time of a frame: %w", err)
		}
		var frame int64
		var s stamp
		if n, _ := fmt.Sscanf(line, "frame:%d pts:%d pts_time:%f", &frame, &s.number, &s.seconds); n != 3 {
			continue
		}
		if !(s.seconds > -1e9 && s.seconds < 1e9) || s.number < -1e15 || s.number > 1e15 {
			return stamp{}, fmt.Errorf("invalid time of a frame: %q", line)
		}
		s.first = frame == 0
		return s, nil
	}
	return stamp{}, errors.New("the time of a frame is missing")
}

// readLine returns a line without its end; lines longer than the buffer are errors.
func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		if len(line) > 0 && errors.Is(err, io.EOF) {
			return "", io.ErrUnexpectedEOF
		}
		return "", err
	}
	return strings.TrimRight(string(line), "\r\n"), nil
}
