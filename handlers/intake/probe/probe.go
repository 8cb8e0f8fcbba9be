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
	// defaultTimeout bounds one Probe.
	defaultTimeout = 10 * time.Second
	// retryAfterS tells a caller when to try again after no frame was decoded in time, in seconds.
	retryAfterS = 10
	// tailShare is the part of the timeout for reading only the end of a file: one third.
	tailShare = 3
)

// Video describes a readable file. nil means unknown.
type Video struct {
	// DurationMicros is the end of the video stream on the clock of the file, in
	// microseconds, > 0. It comes from the timestamps of the packets.
	DurationMicros *int64
	Width, Height  *int     // pixels of the displayed first frame: square, after rotation
	FPS            *float64 // average frames per second, > 0
}

// Prober examines files. It is safe for concurrent use.
type Prober struct {
	ffmpeg  *ffmpeg.Runner
	timeout time.Duration
}

// New returns a prober that runs ffmpeg.
func New(runner *ffmpeg.Runner) *Prober { return &Prober{ffmpeg: runner, timeout: defaultTimeout} }

// Look adds the light of its track to a source.
func (p *Prober) Look(ctx context.Context, source ffmpeg.Source) (_ ffmpeg.Source, err error) {
	source.Light, err = p.ffmpeg.Look(ctx, source)
	return source, err
}

// Probe examines source, the path of a file or an http(s) URL of our object store, whose boxes Inspect
// has read. The table in the documentation of the package lists the results.
func (p *Prober) Probe(ctx context.Context, name string, movie Movie) (Video, error) {
	source := ffmpeg.Source{Name: name, Track: movie.Track}
	if !ffmpeg.Remote(name) {
		// A missing file is an error of the service, not of the video.
		if _, err := os.Stat(name); err != nil {
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
	case isRefused && (!ffmpeg.Remote(name) || isBadData(refused.Said)):
		return Video{}, undecodable(movie.Codec, refused.Said).WithCause(err)
	}
	return Video{}, fmt.Errorf("probe: %w", err)
}

// measure adds the length and the frame rate from the timestamps of the packets. It reads the
// whole file. When that takes too long, as for a large object behind a slow connection, it reads
// from the last key frame in the index. A wrong length is then corrected when the video is
// decoded.
func (p *Prober) measure(limited, ctx context.Context, source ffmpeg.Source, v Video) (Video, error) {
	full, cancel := context.WithTimeout(limited, p.timeout-p.timeout/tailShare)
	defer cancel()
	found, err := p.packets(full, source)
	dense := found.dense() // even if only a part of the file was read in time
	if full.Err() != nil {
		found, err = p.packets(limited, source, "-ss", beyond)
		dense = dense || found.dense()
	}
	_, isRefused := errors.AsType[*ffmpeg.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return Video{}, fmt.Errorf("probe: %w", context.Cause(ctx))
	case dense:
		return Video{}, unreadable(fmt.Sprintf("The video has more than %d frames per second.", maxDensity))
	case limited.Err() != nil:
		return v, nil // an unknown length is null (docs/contract.md#video)
	case err != nil && !isRefused:
		return Video{}, fmt.Errorf("probe: %w", err)
	}
	// Of a damaged file, the readable part counts.
	v.DurationMicros, v.FPS = found.durationMicros(), found.fps()
	return v, nil
}

// isBadData reports whether ffmpeg found bad data rather than a bad connection. It searches for
// the messages of AVERROR_INVALIDDATA and AVERROR_EOF.
func isBadData(stderr string) bool {
	return strings.Contains(stderr, "Invalid data found") || strings.Contains(stderr, "moov atom not found") ||
		strings.Contains(stderr, "End of file")
}

// usual are the codecs that every build of ffmpeg decodes, by the names of their sample entries.
const usual = " avc1 avc3 hvc1 hev1 vp09 av01 mp4v "

// undecodable tells a codec that ffmpeg lacks from damaged data.
func undecodable(codec, said string) *fault.Fault {
	if codec != "" && (!strings.Contains(usual, " "+codec+" ") || strings.Contains(said, "ecoder not found") || strings.Contains(said, "no decoder found")) {
		return unreadable(fmt.Sprintf("The video has the codec %q, which this service cannot decode. Convert it: %s", codec, convert))
	}
	return unreadable("No frame of the video can be decoded, because its data is damaged.")
}

func unreadable(message string) *fault.Fault { return fault.New(fault.VideoUnreadable, message) }
