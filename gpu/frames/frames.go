package frames

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"
	"time"
)

// MaxIntervals is the largest number of intervals of one Sample. ffmpeg refuses expressions
// of more than a hundred terms.
const MaxIntervals = 64

// Defaults of Options.
const (
	defaultFPS      = 2
	defaultLongSide = 640
	defaultStall    = time.Minute
)

// Options of Sample; the zero value of each field takes its default.
type Options struct {
	// FPS is the number of samples per second of video, 0.01 to 60.
	FPS float64
	// LongSide is the largest number of pixels on the longer side, 16 to 4096.
	LongSide int
	// Within limits the samples to intervals of the video, in order and disjoint, at most
	// MaxIntervals; none means the whole video. Decoding begins at the keyframe before the
	// first interval. The time between two intervals is decoded but not encoded.
	Within []Interval
	// Map is the argument of ffmpeg's -map for the video track; the default is the first.
	Map string
	// PPM makes images PPM files, which lose nothing and need no encoder, instead of JPEG files.
	PPM bool
	// Colors are filters that convert the colors to BT.709, for a video with others.
	Colors []string
	// Coarse allows samples up to 0.1 s too old, which makes decoding cheaper; see the
	// package documentation.
	Coarse bool
	// Stall is the longest time from one sample to the next.
	Stall time.Duration
}

// Interval is a part of a video, both ends included, in seconds from its start: 0 <= From
// <= To <= End.
type Interval struct{ From, To float64 }

// Frame is one sampled frame.
type Frame struct {
	// At is the instant of the sample, in seconds from the start of the video.
	At float64
	// Image is a JPEG file, or with Options.PPM a PPM file (P6 with 8 bits for each color).
	Image []byte
}

// UnreadableError says that the source has no frame that can be decoded.
type UnreadableError struct {
	// Reason is the message of ffmpeg, shortened, without the name of the source.
	Reason string
}

// Error implements error.
func (e *UnreadableError) Error() string { return "video unreadable: " + e.Reason }

// errStalled is the cause when ffmpeg made no progress in time.
var errStalled = errors.New("ffmpeg made no progress in time")

// Sample yields the frames of a video in order. The source is a path, or an http or https
// URL. An error is the last item. It is an *UnreadableError for a source without a
// decodable frame, and for one that breaks off, after the frames before the break. It wraps
// the cause when ctx ended. Any other error means that ffmpeg could not run.
func Sample(ctx context.Context, ffmpeg FFmpeg, source string, opts Options) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		opts, err := opts.checked()
		if err != nil {
			yield(Frame{}, err)
			return
		}
		count := 0
		counting := func(f Frame) bool { count++; return yield(f, nil) }
		if len(opts.Within) > 0 {
			err = parts(ctx, ffmpeg, source, opts, counting)
		} else if err = run(ctx, ffmpeg, source, opts, sampled, counting); err == nil && count == 0 {
			err = run(ctx, ffmpeg, source, opts, first, counting)
		}
		if err == nil && count == 0 && opts.Within == nil {
			err = &UnreadableError{Reason: "it has no frame that can be decoded"}
		}
		if err != nil && !errors.Is(err, errBreak) {
			yield(Frame{}, err)
		}
	}
}

// parts decodes from the keyframe before the first interval. In containers without an index
// ffmpeg may miss it; then it decodes from the start.
func parts(ctx context.Context, ffmpeg FFmpeg, source string, opts Options, yield func(Frame) bool) error {
	step := 1 / opts.FPS
	begins := math.Ceil(opts.Within[0].From/step-.25) * step
	met := false
	err := run(ctx, ffmpeg, source, opts, sought, func(f Frame) bool {
		met = met || f.At < begins+step/2
		return met && yield(f)
	})
	if met || err != nil && !errors.Is(err, errBreak) {
		return err
	}
	return run(ctx, ffmpeg, source, opts, sampled, yield)
}

func (o Options) checked() (Options, error) {
	if o.FPS == 0 {
		o.FPS = defaultFPS
	}
	if o.LongSide == 0 {
		o.LongSide = defaultLongSide
	}
	if o.Stall == 0 {
		o.Stall = defaultStall
	}
	if o.Map == "" {
		o.Map = "0:V:0"
	}
	switch {
	case !(o.FPS >= 0.01 && o.FPS <= 60):
		return o, fmt.Errorf("frames: FPS is %v, must be within 0.01..60", o.FPS)
	case o.LongSide < 16 || o.LongSide > 4096:
		return o, fmt.Errorf("frames: LongSide is %d, must be within 16..4096", o.LongSide)
	case o.Stall < 0:
		return o, errors.New("frames: Stall must not be negative")
	case len(o.Within) > MaxIntervals:
		return o, fmt.Errorf("frames: %d intervals, at most %d are allowed", len(o.Within), MaxIntervals)
	}
	at := 0.0
	for _, s := range o.Within {
		if !(s.From >= at && s.To >= s.From && s.To <= End) {
			return o, fmt.Errorf("frames: the interval %v to %v is not in order", s.From, s.To)
		}
		at = s.To
	}
	return o, nil
}

// End is later than the end of every video, in seconds. An Interval up to End is the rest
// of a video.
const End = 1e7

// errBreak ends the iteration when the consumer stops.
var errBreak = errors.New("iteration ended")

// run starts ffmpeg and passes its frames to yield until either ends.
func run(ctx context.Context, ffmpeg FFmpeg, source string, opts Options, mode mode, yield func(Frame) bool) error {
	bounded, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p, err := start(bounded, ffmpeg, source, opts, mode)
	if err != nil {
		return err
	}
	watchdog := time.AfterFunc(opts.Stall, func() { cancel(errStalled) })
	defer watchdog.Stop()
	err = p.frames(opts, mode, func(f Frame) bool {
		// The time of the consumer does not count.
		watchdog.Stop()
		defer watchdog.Reset(opts.Stall)
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
		return failure(source, exit)
	case err != nil:
		return fmt.Errorf("frames: read the output of ffmpeg: %w", err)
	}
	return nil
}

// ErrUnreachable says that the URL of a source did not answer, or that its file could not be opened.
var ErrUnreachable = errors.New("frames: cannot reach the source")

// failure distinguishes a video that cannot be decoded from a source that cannot be
// reached.
func failure(source string, exit error) error {
	refusal, refused := errors.AsType[interface {
		error
		Complaint() string
	}](exit)
	if !refused {
		return fmt.Errorf("frames: %w", exit)
	}
	said := refusal.Complaint()
	if isURL(source) && unreachable(said) || !isURL(source) && unopened(said) {
		return fmt.Errorf("%w: %s", ErrUnreachable, said)
	}
	return &UnreadableError{Reason: said}
}

func isURL(source string) bool {
	return strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://")
}

func unreachable(said string) bool {
	for _, sign := range []string{"HTTP error", "Connection", "timed out", "resolve", "Server returned", "Input/output error"} {
		if strings.Contains(said, sign) {
			return true
		}
	}
	return false
}

// unopened reports whether ffmpeg could not open the file itself, for example because the folder of
// the object store is gone. Package ffmpeg calls the file "source". When it was missing at the start
// of ffmpeg, the kernel also denies a file that appears later. Older and newer releases of ffmpeg say it in two forms.
func unopened(said string) bool {
	for _, reason := range []string{"No such file or directory", "Permission denied"} {
		if strings.Contains(said, "source: "+reason) || strings.Contains(said, "Error opening input: "+reason) {
			return true
		}
	}
	return false
}
