package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"vqa/domain/fault"
	"vqa/handlers/media/ffmpeg"
)

// Timeout bounds one Probe.
const Timeout = 10 * time.Second

// Video is what a readable file says about itself; nil is "not known".
type Video struct {
	DurationS     *float64 // seconds, > 0
	Width, Height *int     // pixels as shown, after rotation
	FPS           *float64 // average frames per second, > 0
	// Decoded reports that a frame was decoded. It is false only when the time ran
	// out before that.
	Decoded bool
}

// Prober runs the tools. It is safe for concurrent use.
type Prober struct {
	ffprobe string
	ffmpeg  *ffmpeg.Runner
	timeout time.Duration
}

// New finds ffprobe on the PATH.
func New(runner *ffmpeg.Runner) (*Prober, error) {
	found, err := exec.LookPath("ffprobe")
	if err != nil {
		return nil, fmt.Errorf("probe: ffprobe is not installed: %w", err)
	}
	return &Prober{ffprobe: found, ffmpeg: runner, timeout: Timeout}, nil
}

// Probe examines source, the path of a file or an http(s) URL of our own object
// store. The answers stand in the table of the package.
func (p *Prober) Probe(ctx context.Context, source string) (Video, error) {
	input, err := inputArgs(source)
	if err != nil {
		return Video{}, err
	}
	limited, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	video, err := p.examine(limited, source, input)
	var refused *exitError
	switch {
	case err == nil || fault.Of(err) != nil:
		return video, err
	case ctx.Err() != nil:
		return Video{}, fmt.Errorf("probe: %w", context.Cause(ctx))
	case limited.Err() != nil:
		return video, nil // the contract: a probe that fails is not fatal
	case errors.As(err, &refused) && (!remote(source) || blamesData(refused.stderr)):
		return Video{}, unreadable("The file is not a readable MP4 or QuickTime video.").WithCause(err)
	}
	return Video{}, err
}

func (p *Prober) examine(ctx context.Context, source string, input []string) (Video, error) {
	out, err := run(ctx, source, p.ffprobe, append([]string{
		"-v", "error", "-select_streams", "V", // V leaves cover pictures out
		"-show_entries", "format=duration:stream=width,height,avg_frame_rate,duration:stream_tags=rotate:stream_side_data=rotation",
		"-of", "json=compact=1",
	}, input...)...)
	if err != nil {
		return Video{}, err
	}
	video, err := parse(out)
	if err != nil {
		return Video{}, err
	}
	// framecrc writes one line for each frame, and its comments begin with '#'.
	out, err = p.ffmpeg.Output(ctx, ffmpeg.Job{
		Input: source, InputArgs: []string{"-threads", "1"},
		OutputArgs: []string{"-map", "0:V:0", "-frames:v", "1", "-threads", "1", "-f", "framecrc", "pipe:1"},
		CPU:        2 * Timeout,
	}, maxOutputBytes)
	if refused, ok := errors.AsType[*ffmpeg.ExitError](err); ok {
		return video, &exitError{err: err, stderr: refused.Said}
	}
	if err != nil {
		return video, err
	}
	for line := range bytes.Lines(out) {
		video.Decoded = video.Decoded || line[0] != '#'
	}
	if !video.Decoded {
		return Video{}, unreadable("Not one frame of the video can be decoded.")
	}
	return video, nil
}

// inputArgs fixes the demuxer and the protocols.
func inputArgs(source string) ([]string, error) {
	protocols := "file"
	if remote(source) {
		protocols = "https,tls,tcp"
		if strings.HasPrefix(source, "http://") {
			protocols = "http,tcp"
		}
	} else {
		info, err := os.Stat(source)
		if err != nil {
			return nil, fmt.Errorf("probe: %w", err)
		}
		if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("probe: %s is not a regular file", source)
		}
		source = "file:" + source
	}
	return []string{"-max_alloc", maxAllocBytes, "-protocol_whitelist", protocols, "-f", "mov", "-i", source}, nil
}

func remote(source string) bool {
	return strings.HasPrefix(source, "https://") || strings.HasPrefix(source, "http://")
}

// blamesData tells a bad file from a bad connection by ffmpeg's own words for
// AVERROR_INVALIDDATA and AVERROR_EOF.
func blamesData(stderr string) bool {
	return strings.Contains(stderr, "Invalid data found") || strings.Contains(stderr, "moov atom not found") ||
		strings.Contains(stderr, "End of file")
}

func unreadable(message string) *fault.Fault { return fault.New(fault.VideoUnreadable, message) }

// report is the part of ffprobe's JSON that was asked for.
type report struct {
	Streams []struct {
		Width        int    `json:"width"`
		Height       int    `json:"height"`
		AvgFrameRate string `json:"avg_frame_rate"`
		Duration     string `json:"duration"`
		Tags         struct {
			Rotate string `json:"rotate"`
		} `json:"tags"`
		SideData []struct {
			Rotation json.Number `json:"rotation"`
		} `json:"side_data_list"`
	} `json:"streams"`
	Format struct {
		Duration string `json:"duration"`
	} `json:"format"`
}

func parse(out []byte) (Video, error) {
	var r report
	if err := json.Unmarshal(out, &r); err != nil {
		return Video{}, fmt.Errorf("probe: read the output of ffprobe: %w", err)
	}
	if len(r.Streams) == 0 {
		return Video{}, unreadable("The file has no video stream.")
	}
	s := r.Streams[0]
	v := Video{FPS: ratio(s.AvgFrameRate), DurationS: positive(r.Format.Duration)}
	if v.DurationS == nil {
		v.DurationS = positive(s.Duration)
	}
	if s.Width > 0 && s.Height > 0 {
		v.Width, v.Height = &s.Width, &s.Height
	}
	turn := s.Tags.Rotate // how releases before ffmpeg 5 told it
	for _, d := range s.SideData {
		if d.Rotation != "" {
			turn = d.Rotation.String()
		}
	}
	if sideways(turn) {
		v.Width, v.Height = v.Height, v.Width
	}
	return v, nil
}

// sideways reports a rotation that swaps width and height.
func sideways(degrees string) bool {
	d, err := strconv.ParseFloat(degrees, 64)
	if err != nil || math.IsInf(d, 0) || math.IsNaN(d) {
		return false
	}
	quarter := math.Mod(math.Round(d/90), 2)
	return quarter == 1 || quarter == -1
}

// positive parses a decimal number that is finite and over 0.
func positive(s string) *float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f > 0) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}

// ratio parses "30000/1001" and divides once, so that 25/1 is exactly 25.
func ratio(s string) *float64 {
	num, den, ok := strings.Cut(s, "/")
	n, d := positive(num), positive(den)
	if !ok || n == nil || d == nil {
		return nil
	}
	f := *n / *d
	return &f
}
