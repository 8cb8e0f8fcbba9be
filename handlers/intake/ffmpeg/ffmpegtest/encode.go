package ffmpegtest

import (
	"context"
	"fmt"
	"image"
	"math"
	"strconv"
	"testing"
	"time"

	"vqa/handlers/intake/ffmpeg"
)

const (
	// encodeTimeout bounds the encoding of one file on a slow, busy machine. It bounds the
	// CPU time too.
	encodeTimeout = 5 * time.Minute
	// maxFileBytes bounds one file; a drawn clip has a few hundred kB.
	maxFileBytes = 64 << 20
)

// Format is the size of frames in pixels and their number per second.
type Format struct{ Width, Height, FPS int }

// Encode writes an H.264 MP4 with the given number of frames. It calls frame for each one, with
// its time in seconds; frame returns the RGBA pixels. One release of ffmpeg writes the same
// bytes every time, on any number of cores.
func Encode(t testing.TB, path string, format Format, frames int, frame func(atS float64) []byte) error {
	t.Helper()
	return encode(t.Context(), path, format, frames, frame,
		"-an", "-c:v", "libx264", "-preset", "medium", "-crf", "21", "-pix_fmt", "yuv420p", "-g", strconv.Itoa(2*format.FPS),
		"-movflags", "+faststart", "-map_metadata", "-1", "-fflags", "+bitexact", "-flags:v", "+bitexact", "-threads", "1")
}

// WriteClip writes an H.264 MP4 to path. Frame k is shown from k/fps on for 1/fps seconds. There
// is at least one frame. All have one size, with even sides.
func WriteClip(ctx context.Context, path string, fps int, frames []*image.RGBA) error {
	size := frames[0].Bounds().Size()
	// At least 10 frames per second, like a camera.
	rate := max(fps, 10/fps*fps)
	return encode(ctx, path, Format{Width: size.X, Height: size.Y, FPS: fps}, len(frames),
		func(atS float64) []byte { return frames[int(math.Round(atS*float64(fps)))].Pix },
		"-r", strconv.Itoa(rate), "-c:v", "libx264", "-preset", "veryfast", "-crf", "18", "-pix_fmt", "yuv420p", "-movflags", "+faststart")
}

func encode(ctx context.Context, path string, format Format, frames int, frame func(atS float64) []byte, output ...string) error {
	runner, err := found()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, encodeTimeout)
	defer cancel()
	p, err := runner.Start(ctx, ffmpeg.Job{
		InputArgs: []string{
			"-f", "rawvideo", "-pix_fmt", "rgba", "-video_size", fmt.Sprintf("%dx%d", format.Width, format.Height),
			"-framerate", strconv.Itoa(format.FPS),
		},
		OutputArgs: output,
		Output:     path, OutputBytes: maxFileBytes, CPU: encodeTimeout,
	})
	if err != nil {
		return err
	}
	var broken error
	for i := range frames {
		if _, broken = p.Stdin.Write(frame(float64(i) / float64(format.FPS))); broken != nil {
			break
		}
	}
	// The error of ffmpeg says why it closed the pipe.
	if err := p.Wait(); err != nil {
		return err
	}
	return broken
}
