package artifact

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"vqa/gpu/frames"
)

const (
	// maxSide and minSide bound the longer side of the picture, in pixels: a small one is
	// enlarged, so that there is room for letters.
	maxSide, minSide = 960, 640
	// maxPixels of a picture of the source: 8192x8192.
	maxPixels = 8192 * 8192
	// killWait is how long ffmpeg may take to end when it is told to.
	killWait = 5 * time.Second
)

// process is a running ffmpeg.
type process struct {
	cmd  *exec.Cmd
	said frames.Tail
}

func newProcess(ctx context.Context, args []string) *process {
	p := &process{cmd: exec.CommandContext(ctx, "ffmpeg", append([]string{"-nostdin", "-hide_banner", "-v", "error"}, args...)...)}
	p.cmd.Stderr, p.cmd.WaitDelay = &p.said, killWait
	// A group of its own: a Ctrl-C for the service is the service's to handle.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return p
}

func (p *process) wait() error {
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("artifact: ffmpeg: %w: %s", err, p.said.String())
	}
	return nil
}

// decoder yields the pictures of a span of a video at an even rate.
type decoder struct {
	*process
	out           *bufio.Reader
	width, height int
}

// decode starts at a span. The pictures are upright and have square pixels; picture k is
// what a viewer sees k/fps seconds after the start of the span. The caller must call wait.
func decode(ctx context.Context, source string, s span, fps float64) (*decoder, error) {
	// The sides are even, as the coding of colour wants them.
	side := fmt.Sprintf("clip(max(iw*sar\\,ih)\\,%d\\,%d)/max(iw*sar\\,ih)/2", minSide, maxSide)
	filters := fmt.Sprintf("fps=fps=%s:round=up:start_time=0,"+
		"scale=w=2*max(1\\,round(iw*sar*%s)):h=2*max(1\\,round(ih*%s)):flags=bilinear:out_color_matrix=bt709:out_range=tv,"+
		"setsar=1,format=yuv420p", number(fps), side, side)
	args := append(frames.InputArguments(source), "-threads", "2", "-max_pixels", strconv.Itoa(maxPixels), "-max_alloc", strconv.Itoa(1<<30), "-ss", number(s.startS), "-t", number(s.endS-s.startS),
		"-i", frames.InputName(source), "-map", "0:V:0", "-an", "-vf", filters, "-f", "yuv4mpegpipe", "pipe:1")
	d := &decoder{process: newProcess(ctx, args)}
	stdout, err := d.cmd.StdoutPipe()
	if err == nil {
		err = d.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("artifact: start ffmpeg: %w", err)
	}
	if err := frames.Confine(d.cmd.Process.Pid); err != nil {
		return nil, errors.Join(fmt.Errorf("artifact: limit ffmpeg: %w", err), d.cmd.Process.Kill(), d.cmd.Wait())
	}
	d.out = bufio.NewReaderSize(stdout, 1<<16)
	return d, nil
}

// header reads what comes before the first picture (YUV4MPEG2). An io.EOF says that there
// is none.
func (d *decoder) header() error {
	line, err := d.line()
	if err != nil {
		return err
	}
	fields := strings.Fields(line)
	if len(fields) == 0 || fields[0] != "YUV4MPEG2" {
		return fmt.Errorf("artifact: output of ffmpeg begins with %.40q", line)
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
		return fmt.Errorf("artifact: pictures of %dx%d", d.width, d.height)
	}
	return nil
}

// line reads one that is short.
func (d *decoder) line() (string, error) {
	line, err := d.out.ReadSlice('\n')
	if errors.Is(err, io.EOF) && len(line) > 0 {
		err = io.ErrUnexpectedEOF
	}
	return strings.TrimSuffix(string(line), "\n"), err
}

// next reads a picture into a canvas of its size, or answers io.EOF after the last one.
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

// encoder makes an H.264 MP4 that can be played while it is loaded.
type encoder struct {
	*process
	in io.WriteCloser
}

// encode starts a new file at path. The caller must call finish.
func encode(ctx context.Context, path string, width, height int, fps float64) (*encoder, error) {
	colours := []string{"-color_range", "tv", "-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"}
	args := append([]string{"-f", "rawvideo", "-pix_fmt", "yuv420p", "-video_size", fmt.Sprintf("%dx%d", width, height), "-framerate", number(fps)}, colours...)
	args = append(args, "-i", "pipe:0", "-an", "-c:v", "libx264", "-preset", "superfast", "-crf", "23", "-maxrate", "4M", "-bufsize", "8M",
		"-pix_fmt", "yuv420p", "-g", strconv.Itoa(int(2*fps+0.5)), "-threads", "2")
	args = append(append(args, colours...), "-map_metadata", "-1", "-fflags", "+bitexact", "-movflags", "+faststart", "-y", "file:"+path)
	e := &encoder{process: newProcess(ctx, args)}
	var err error
	if e.in, err = e.cmd.StdinPipe(); err == nil {
		err = e.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("artifact: start ffmpeg: %w", err)
	}
	return e, nil
}

func (e *encoder) write(c canvas) error {
	for _, plane := range [][]byte{c.y, c.u, c.v} {
		if _, err := e.in.Write(plane); err != nil {
			return fmt.Errorf("artifact: input of ffmpeg: %w", err)
		}
	}
	return nil
}

// finish ends the file. What ffmpeg says about its end explains a broken pipe.
func (e *encoder) finish() error {
	_ = e.in.Close() // a broken pipe was told by write, or is told by wait
	return e.wait()
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', 6, 64) }
