package probe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"vqa/domain/fault"
	"vqa/handlers/intake/ffmpeg"
)

const (
	// Timeout bounds one Probe.
	Timeout = 10 * time.Second
	// retryAfterS is when a caller may try again whose video could not be decoded in time.
	retryAfterS = 10
	// tailShare is the part of the timeout that is kept for reading the end of a file alone.
	tailShare = 3
)

// Video is what a readable file holds; nil is "not known".
type Video struct {
	// DurationMicros is where the video stream ends on the clock of the file, in
	// microseconds, > 0, from the timestamps of its packets.
	DurationMicros *int64
	Width, Height  *int     // pixels as shown, after rotation
	FPS            *float64 // average frames per second, > 0
}

// Prober examines files. It is safe for concurrent use.
type Prober struct {
	ffmpeg  *ffmpeg.Runner
	timeout time.Duration
}

// New returns a prober that runs ffmpeg.
func New(runner *ffmpeg.Runner) *Prober { return &Prober{ffmpeg: runner, timeout: Timeout} }

// Probe examines source, the path of a file or an http(s) URL of our own object
// store. The answers stand in the table of the package.
func (p *Prober) Probe(ctx context.Context, source string) (Video, error) {
	if !ffmpeg.Remote(source) {
		// A missing file says nothing about the video.
		if _, err := os.Stat(source); err != nil {
			return Video{}, fmt.Errorf("probe: %w", err)
		}
	}
	limited, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	video, err := p.frame(limited, source)
	refused, isRefused := errors.AsType[*ffmpeg.ExitError](err)
	switch {
	case err == nil:
		return p.measure(limited, ctx, source, video)
	case fault.Of(err) != nil:
		return Video{}, err
	case ctx.Err() != nil:
		return Video{}, fmt.Errorf("probe: %w", context.Cause(ctx))
	case limited.Err() != nil:
		return Video{}, fault.Newf(fault.CapacityExhausted, "No frame of the video could be decoded within %s. Try again later.", p.timeout).
			WithRetryAfter(retryAfterS)
	case isRefused && strings.Contains(refused.Said, "matches no streams"):
		return Video{}, unreadable("The file has no video stream.").WithCause(err)
	case isRefused && (!ffmpeg.Remote(source) || blamesData(refused.Said)):
		return Video{}, unreadable("The file is not a readable MP4 or QuickTime video.").WithCause(err)
	}
	return Video{}, fmt.Errorf("probe: %w", err)
}

// measure adds what the timestamps of the packets tell. It reads all of the file. When the
// time gets short for that, as for a large object behind a slow connection, it reads from
// the last key frame of the index on: what is decoded later corrects a length that is wrong
// then.
func (p *Prober) measure(limited, ctx context.Context, source string, v Video) (Video, error) {
	full, cancel := context.WithTimeout(limited, p.timeout-p.timeout/tailShare)
	defer cancel()
	found, err := p.packets(full, source)
	dense := found.dense() // also of a file of which only a part was read in time
	if full.Err() != nil {
		found, err = p.packets(limited, source, "-ss", beyond)
		dense = dense || found.dense()
	}
	_, isRefused := errors.AsType[*ffmpeg.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return Video{}, fmt.Errorf("probe: %w", context.Cause(ctx))
	case dense:
		return Video{}, unreadable(fmt.Sprintf("The video has more than %d pictures per second.", maxDensity))
	case limited.Err() != nil:
		return v, nil // the contract: a length that is not found stays null
	case err != nil && !isRefused:
		return Video{}, fmt.Errorf("probe: %w", err)
	}
	// Of a file that is broken in its midst counts what could be read.
	v.DurationMicros, v.FPS = found.durationMicros(), found.fps()
	return v, nil
}

// blamesData tells a bad file from a bad connection by ffmpeg's own words for
// AVERROR_INVALIDDATA and AVERROR_EOF.
func blamesData(stderr string) bool {
	return strings.Contains(stderr, "Invalid data found") || strings.Contains(stderr, "moov atom not found") ||
		strings.Contains(stderr, "End of file")
}

func unreadable(message string) *fault.Fault { return fault.New(fault.VideoUnreadable, message) }
