package artifact

import (
	"bufio"
	"context"
	"errors"
	"fmt"
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
	process       *ffmpeg.Process
	out           *bufio.Reader
	width, height int
}

// decode starts to decode an interval. The frames are upright and have square pixels. Frame k is
// the one that a player shows k/fps seconds after the start of the interval. The caller must
// call process.Wait.
func decode(ctx context.Context, runner *ffmpeg.Runner, source string, s interval, fps float64) (*decoder, error) {
	// The sides are even, because color has half the resolution of brightness.
	side := fmt.Sprintf("clip(max(iw*sar\\,ih)\\,%d\\,%d)/max(iw*sar\\,ih)/2", minSide, maxSide)
	filters := fmt.Sprintf("fps=fps=%s:round=up:start_time=0,"+
		"scale=w=2*max(1\\,round(iw*sar*%s)):h=2*max(1\\,round(ih*%s)):flags=bilinear:out_color_matrix=bt709:out_range=tv,"+
		"setsar=1,format=yuv420p", number(fps), side, side)
	p, err := runner.Start(ctx, ffmpeg.Job{
		Input:      source,
		InputArgs:  []string{"-threads", "2", "-ss", number(s.startS), "-t", number(s.endS - s.startS)},
		OutputArgs: []string{"-map", "0:V:0", "-an", "-vf", filters, "-f", "yuv4mpegpipe", "pipe:1"},
		CPU:        decodeCPU,
	})
	if err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	return &decoder{process: p, out: bufio.NewReaderSize(p.Stdout, 1<<16)}, nil
}

// header reads the YUV4MPEG2 header before the first frame. It returns io.EOF when there is no
// frame.
func (d *decoder) header() error {
	line, err := d.line()
	if err != nil {
		return err
	}
	fields := strings.Fields(line)
	if len(fields) == 0 || fields[0] != "YUV4MPEG2" {
		return fmt.Errorf("artifact: output of ffmpeg starts with %.40q", line)
	}
	for _, f := range fields[1:] {
		var err error
		switch f[0] {
		case 'W':
			d.width, err = strconv.Atoi(f[1:])
		case 'H':
			d.height, err = strconv.Atoi(f[1:])
		}
		if err != nil {
			return fmt.Errorf("artifact: output of ffmpeg: %w", err)
		}
	}
	if d.width < 2 || d.height < 2 || d.width > maxSide || d.height > maxSide || d.width%2+d.height%2 > 0 {
		return fmt.Errorf("artifact: frames of %dx%d", d.width, d.height)
	}
	return nil
}

// line reads a short line.
func (d *decoder) line() (string, error) {
	line, err := d.out.ReadSlice('\n')
	if errors.Is(err, io.EOF) && len(line) > 0 {
		err = io.ErrUnexpectedEOF
	}
	return strings.TrimSuffix(string(line), "\n"), err
}

// next reads a frame into a canvas of its size. It returns io.EOF after the last frame.
func (d *decoder) next(c canvas) error {
	if _, err := d.line(); err != nil {
		return err
	}
	for _, plane := range [][]byte{c.y, c.u, c.v} {
		if _, err := io.ReadFull(d.out, plane); err != nil {
			return fmt.Errorf("artifact: output of ffmpeg: %w", err)
		}
	}
	return nil
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
