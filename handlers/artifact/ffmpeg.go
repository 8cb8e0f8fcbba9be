package artifact

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"vqa/handlers/intake/ffmpeg"
)

const (
	// maxSide and minSide bound the longer side of the frames, in pixels. A smaller video is
	// enlarged to make room for letters.
	maxSide, minSide = 960, 640
	// decodeCPU bounds the decoding of one interval, encodeCPU the encoding of a video. Both
	// take one or two minutes at 1080p.
	decodeCPU, encodeCPU = 20 * time.Minute, 30 * time.Minute
)

// decoder reads the frames of an interval of a video at an even rate.
type decoder struct {
	process *ffmpeg.Process
	out     *bufio.Reader
	// alpha is 255 where the canvas has the frame, and 0 elsewhere.
	alpha []byte
}

// canvasSize is the size of the annotated frames of a video. The sides are even, because color has
// half the resolution of brightness.
func canvasSize(shown image.Point) image.Point {
	if shown.X <= 0 || shown.Y <= 0 {
		shown = image.Pt(16, 9) // unknown
	}
	side := float64(max(shown.X, shown.Y))
	scale := min(max(side, minSide), maxSide) / side / 2
	return image.Pt(2*max(1, int(float64(shown.X)*scale+0.5)), 2*max(1, int(float64(shown.Y)*scale+0.5)))
}

// decode starts to decode an interval. Frame k is the one that a player shows k/fps seconds after the
// start of the interval: upright, with square pixels, and as large as the canvas allows. A video can
// change its size, so a frame does not always fill the canvas. The caller must call process.Wait.
func decode(ctx context.Context, runner *ffmpeg.Runner, source ffmpeg.Source, size image.Point, s interval, fps float64) (*decoder, error) {
	fit := fmt.Sprintf("min(%d/(iw*sar),%d/ih)/2", size.X, size.Y)
	filters := slices.Concat(
		[]string{
			"fps=fps=" + number(fps) + ":round=up",
			fmt.Sprintf("scale=w='min(%d,2*max(1,round(iw*sar*%s)))':h='min(%d,2*max(1,round(ih*%s)))':flags=bilinear:eval=frame", size.X, fit, size.Y, fit),
		},
		source.Light.Filters(),
		[]string{
			"scale=out_color_matrix=bt709:out_range=tv", "format=yuva420p", "lutyuv=y=val:u=val:v=val:a=maxval",
			fmt.Sprintf("pad=w=%d:h=%d:x='2*trunc((ow-iw)/4)':y='2*trunc((oh-ih)/4)':color=black@0:eval=frame", size.X, size.Y),
		},
	)
	p, err := runner.Start(ctx, ffmpeg.Job{
		Input:     source.Name,
		InputArgs: []string{"-threads", "2", "-ss", number(s.startS), "-t", number(s.endS - s.startS)},
		// A constant rate fills the time before the first frame, and that where the size changes.
		OutputArgs: []string{"-map", source.Map(), "-an", "-vf", strings.Join(filters, ","), "-fps_mode", "cfr", "-c:v", "rawvideo", "-f", "rawvideo", "pipe:1"},
		CPU:        decodeCPU,
	})
	if err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	return &decoder{process: p, out: bufio.NewReaderSize(p.Stdout, 1<<16), alpha: make([]byte, size.X*size.Y)}, nil
}

// next reads a frame into a canvas, and returns the area that it fills. It returns io.EOF after the
// last frame.
func (d *decoder) next(c canvas) (image.Rectangle, error) {
	for i, plane := range [][]byte{c.y, c.u, c.v, d.alpha} {
		_, err := io.ReadFull(d.out, plane)
		if i == 0 && errors.Is(err, io.EOF) {
			return image.Rectangle{}, io.EOF
		}
		if err != nil {
			return image.Rectangle{}, fmt.Errorf("artifact: output of ffmpeg: %w", err)
		}
	}
	// The frame is centered, so it covers the middle of the canvas.
	filled := func(n, from, step int) (first, end int) {
		for first < n && d.alpha[from+first*step] == 0 {
			first++
		}
		for end = n; end > first && d.alpha[from+(end-1)*step] == 0; end-- {
		}
		return first, end
	}
	var area image.Rectangle
	area.Min.X, area.Max.X = filled(c.width, c.height/2*c.width, 1)
	area.Min.Y, area.Max.Y = filled(c.height, c.width/2, c.width)
	return area, nil
}

// encoder writes an H.264 MP4 that is playable while it is loading.
type encoder struct{ process *ffmpeg.Process }

// encode starts a new file at path. The caller must call finish.
func encode(ctx context.Context, runner *ffmpeg.Runner, path string, width, height int, fps float64) (*encoder, error) {
	colors := []string{"-color_range", "tv", "-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"}
	p, err := runner.Start(ctx, ffmpeg.Job{
		InputArgs: append([]string{"-f", "rawvideo", "-pix_fmt", "yuv420p", "-video_size", fmt.Sprintf("%dx%d", width, height), "-framerate", number(fps)}, colors...),
		OutputArgs: slices.Concat([]string{"-an", "-c:v", "libx264", "-preset", "superfast", "-crf", "23", "-maxrate", "4M", "-bufsize", "8M",
			"-pix_fmt", "yuv420p", "-g", strconv.Itoa(int(2*fps + 0.5)), "-threads", "2"}, colors,
			[]string{"-map_metadata", "-1", "-fflags", "+bitexact", "-movflags", "+faststart"}),
		Output: path, OutputBytes: maxBytes, CPU: encodeCPU,
	})
	if err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	return &encoder{process: p}, nil
}

func (e *encoder) write(c canvas) error {
	for _, plane := range [][]byte{c.y, c.u, c.v} {
		if _, err := e.process.Stdin.Write(plane); err != nil {
			return fmt.Errorf("artifact: input of ffmpeg: %w", err)
		}
	}
	return nil
}

// finish ends the file. The error of ffmpeg says why it closed the pipe.
func (e *encoder) finish() error {
	if err := e.process.Wait(); err != nil {
		return fmt.Errorf("artifact: %w", err)
	}
	return nil
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', 6, 64) }
