package frames

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os/exec"
	"strings"
	"time"
)

// Defaults of Options.
const (
	DefaultFPS      = 2
	DefaultLongSide = 512
	DefaultStall    = time.Minute
)

// Options of Sample; the zero value of each field takes its default.
type Options struct {
	// FPS is the number of samples per second of video, 0.01 to 60.
	FPS float64
	// LongSide is the most pixels on the longer side, 16 to 4096.
	LongSide int
	// Start is where sampling begins, from the start of the video.
	Start time.Duration
	// Duration is how much of the video is sampled; 0 means to its end.
	Duration time.Duration
	// Coarse trades up to 0.1 s of exactness for cheaper decoding, see the package.
	Coarse bool
	// Stall is how long ffmpeg may take from one sample to the next.
	Stall time.Duration
}

// Frame is one sampled picture.
type Frame struct {
	// At is the instant that the picture was on view, in seconds from the start of
	// the video.
	At float64
	// JPEG is the encoded picture.
	JPEG []byte
}

// UnreadableError says that the source holds no picture that can be decoded.
type UnreadableError struct {
	// Reason is what ffmpeg said, cut short; it may name the source.
	Reason string
}

// Error implements error.
func (e *UnreadableError) Error() string { return "video unreadable: " + e.Reason }

// errStalled is the cause when ffmpeg stopped making progress.
var errStalled = errors.New("ffmpeg made no progress in time")

// Sample yields the frames of a video in order. The source is a path, or an http or
// https URL. An error is the last thing that is yielded: *UnreadableError for a source
// without a decodable picture or one that breaks off (after the frames before the
// break), an error that wraps the cause when ctx ended, any other when ffmpeg could
// not do its work.
func Sample(ctx context.Context, source string, opts Options) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		opts, err := opts.checked()
		if err != nil {
			yield(Frame{}, err)
			return
		}
		count := 0
		counting := func(f Frame) bool { count++; return yield(f, nil) }
		err = run(ctx, source, opts, sampled, counting)
		if err == nil && count == 0 {
			err = run(ctx, source, opts, first, counting)
		}
		if err == nil && count == 0 && opts.Start == 0 {
			err = &UnreadableError{Reason: "it holds no picture"}
		}
		if err != nil && !errors.Is(err, errBreak) {
			yield(Frame{}, err)
		}
	}
}

func (o Options) checked() (Options, error) {
	if o.FPS == 0 {
		o.FPS = DefaultFPS
	}
	if o.LongSide == 0 {
		o.LongSide = DefaultLongSide
	}
	if o.Stall == 0 {
		o.Stall = DefaultStall
	}
	switch {
	case !(o.FPS >= 0.01 && o.FPS <= 60):
		return o, fmt.Errorf("frames: FPS %v is not in 0.01..60", o.FPS)
	case o.LongSide < 16 || o.LongSide > 4096:
		return o, fmt.Errorf("frames: LongSide %d is not in 16..4096", o.LongSide)
	case o.Start < 0 || o.Duration < 0 || o.Stall < 0:
		return o, errors.New("frames: a negative time")
	}
	return o, nil
}

// errBreak says that the consumer wants no more.
var errBreak = errors.New("iteration ended")

// run starts ffmpeg and hands its frames to yield until either ends.
func run(ctx context.Context, source string, opts Options, mode mode, yield func(Frame) bool) error {
	bounded, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p, err := start(bounded, arguments(source, opts, mode))
	if err != nil {
		return err
	}
	watchdog := time.AfterFunc(opts.Stall, func() { cancel(errStalled) })
	defer watchdog.Stop()
	err = p.frames(func(f Frame) bool {
		// The consumer's time is not ffmpeg's.
		watchdog.Stop()
		defer watchdog.Reset(opts.Stall)
		f.At += opts.Start.Seconds()
		return yield(f)
	})
	if err != nil {
		cancel(err)
	}
	exit := p.wait()
	switch {
	case errors.Is(err, errBreak):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("frames: %w", context.Cause(ctx))
	case errors.Is(context.Cause(bounded), errStalled):
		return fmt.Errorf("frames: %w", errStalled)
	case exit != nil:
		return failure(source, exit, p.said())
	case err != nil:
		return fmt.Errorf("frames: output of ffmpeg: %w", err)
	}
	return nil
}

// failure tells a video that cannot be read from a source that cannot be reached.
func failure(source string, exit error, said string) error {
	if _, exited := errors.AsType[*exec.ExitError](exit); !exited {
		return fmt.Errorf("frames: %w", exit)
	}
	if said == "" {
		said = exit.Error()
	}
	if isURL(source) && unreachable(said) {
		return fmt.Errorf("frames: source out of reach: %s", said)
	}
	return &UnreadableError{Reason: said}
}

func unreachable(said string) bool {
	for _, sign := range []string{"HTTP error", "Connection", "timed out", "resolve", "Server returned", "Input/output error"} {
		if strings.Contains(said, sign) {
			return true
		}
	}
	return false
}

// Tail keeps the last bytes that are written to it: ffmpeg may complain without end.
type Tail struct{ kept []byte }

const tailBytes = 2048

// Write implements io.Writer.
func (t *Tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if extra := len(t.kept) - tailBytes; extra > 0 {
		t.kept = append(t.kept[:0], t.kept[extra:]...)
	}
	return len(p), nil
}

// String returns them as text.
func (t *Tail) String() string {
	return string(bytes.ToValidUTF8(bytes.TrimSpace(t.kept), []byte("?")))
}

var _ io.Writer = (*Tail)(nil)
