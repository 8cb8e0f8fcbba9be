package frames

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// cpuTime bounds one run of ffmpeg. Four hours of video, the longest that is analyzed, take
// half an hour at 1080p and five hours at 8K.
const cpuTime = 8 * time.Hour

// FFmpeg starts ffmpeg; handlers/intake/ffmpeg implements it.
type FFmpeg interface {
	// Decode starts ffmpeg on source, a path or an http or https URL. The input options
	// come before the source, the output options after it. Reading yields what ffmpeg
	// writes to pipe:1. side becomes its descriptor 3; the caller closes its own copy.
	// Close waits for the end and returns how it ended: an error with a method Complaint
	// when ffmpeg refused the source, another error when ffmpeg could not run. The process
	// is killed when ctx ends, or when it has used the CPU time.
	Decode(ctx context.Context, source string, input, output []string, side *os.File, cpu time.Duration) (io.ReadCloser, error)
}

// mode selects the frames to decode.
type mode int

const (
	sampled mode = iota // one at each instant of the grid
	sought              // the same, decoding from the keyframe before the first interval
	first               // the first one only
)

// inputArguments come before the source.
func inputArguments(opts Options, mode mode) []string {
	args := []string{"-threads", strconv.Itoa(decodeThreads())}
	if opts.Coarse {
		args = append(args, "-skip_frame", "noref")
	}
	if mode == sought {
		// All frames from there on, with the times of the video: the frame that is shown at
		// the first instant may have come long before it.
		args = append(args, "-noaccurate_seek", "-copyts", "-start_at_zero", "-ss", decimal(opts.Within[0].From))
	}
	return args
}

// outputArguments follow the source. Standard output carries the canvases, descriptor 3 a line with
// the time of each.
func outputArguments(opts Options, mode mode) []string {
	args := []string{"-map", opts.Map, "-vf", filters(opts, mode)}
	if mode == first {
		args = append(args, "-frames:v", "1")
	}
	return append(args, "-fps_mode", "passthrough", "-c:v", "rawvideo", "-f", "rawvideo", "pipe:1")
}

// decodeThreads is a quarter of the cores, from 1 to 4. Inference takes several times as long
// as decoding and needs the others. A second decoding thread adds a fifth to the CPU time.
func decodeThreads() int {
	return min(4, max(1, runtime.GOMAXPROCS(0)/4))
}

// filters selects the grid, writes the time to descriptor 3, and scales. Rounding up gives
// each instant the last frame before it. The colors become full range BT.601, because a
// JPEG is always read as that. The canvas is the same for all frames; see canvas. The filter pad drops a
// frame with a width of 1.
func filters(opts Options, mode mode) string {
	side, canvas := strconv.Itoa(opts.LongSide), strconv.Itoa(canvasSide(opts))
	// Pixels become square, as in browsers: their shorter side grows.
	const width, height = "iw*max(1,sar)", "ih*max(1,1/sar)"
	fit := "min(1," + side + "/max(" + width + "," + height + "))"
	var chain []string
	if mode != first {
		chain = grid(opts)
	}
	chain = append(chain,
		"metadata=mode=add:key=at:value=1",
		`metadata=mode=print:key=at:direct=1:file='pipe\:3'`,
		fmt.Sprintf("scale=w='max(2,round(%s*%s))':h='max(1,round(%s*%s))':flags=area:eval=frame", width, fit, height, fit),
	)
	chain = append(chain, opts.Colors...)
	return strings.Join(append(chain,
		"scale=out_range=pc:out_color_matrix=bt601", "format=yuva420p", "lutyuv=y=val:u=val:v=val:a=maxval",
		"pad=w="+canvas+":h="+canvas+":color=black@0:eval=frame"), ",")
}

// grid selects the wanted instants. Decoding ends after the last.
func grid(opts Options) []string {
	rate := "fps=fps=" + strconv.FormatFloat(opts.FPS, 'f', -1, 64) + ":round=up"
	n := len(opts.Within)
	if n == 0 {
		return []string{rate}
	}
	// A quarter of a step is enough to tell instants of the grid apart.
	step := 1 / opts.FPS
	parts := make([]string, n)
	for i, s := range opts.Within {
		parts[i] = `between(t\,` + decimal(s.From-step/4) + `\,` + decimal(s.To+step/4) + ")"
	}
	return []string{"trim=end=" + decimal(opts.Within[n-1].To+step), rate, "select='" + strings.Join(parts, "+") + "'"}
}

func decimal(seconds float64) string { return strconv.FormatFloat(seconds, 'f', 6, 64) }

// process is a running ffmpeg.
type process struct {
	output   io.Closer
	canvases *bufio.Reader
	times    *bufio.Reader
	timesEnd *os.File
}

// start runs ffmpeg. It is killed when ctx ends. The caller must call wait.
func start(ctx context.Context, ffmpeg FFmpeg, source string, opts Options, mode mode) (*process, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("frames: %w", err)
	}
	// The child has its own copy.
	defer func() { _ = write.Close() }()
	output, err := ffmpeg.Decode(ctx, source, inputArguments(opts, mode), outputArguments(opts, mode), write, cpuTime)
	if err != nil {
		_ = read.Close()
		return nil, fmt.Errorf("frames: %w", err)
	}
	return &process{
		output: output, canvases: bufio.NewReaderSize(output, 64<<10), times: bufio.NewReaderSize(read, 256), timesEnd: read,
	}, nil
}

// frames reads one frame after the other. It returns nil at the end of the output, and
// errBreak when yield returns false.
func (p *process) frames(opts Options, mode mode, yield func(Frame) bool) error {
	c := newCanvas(canvasSide(opts))
	var last Frame
	for {
		err := c.read(p.canvases)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		// The filter wrote the time before the frame left the filters.
		when, err := readTime(p.times)
		if err != nil {
			return err
		}
		frame := Frame{At: when.at(opts, mode)}
		if frame.Image, err = c.image(opts.PPM); err != nil {
			return err
		}
		// New filters begin where the size changes. The old ones drop the frame that they
		// hold, so the instants that it would have filled get the one before.
		for when.first && last.Image != nil && opts.Within == nil && last.At+1.5/opts.FPS < frame.At {
			if last.At += 1 / opts.FPS; !yield(last) {
				return errBreak
			}
		}
		if last = frame; !yield(frame) {
			return errBreak
		}
	}
}

// wait waits for the process and closes its pipes.
func (p *process) wait() error {
	defer func() { _ = p.timesEnd.Close() }()
	return p.output.Close()
}
