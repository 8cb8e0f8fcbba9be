package ffmpegtest

import (
	"context"
	"fmt"
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
	ctx, cancel := context.WithTimeout(t.Context(), encodeTimeout)
	defer cancel()
	p, err := Runner(t).Start(ctx, ffmpeg.Job{
		InputArgs: []string{
			"-f", "rawvideo", "-pix_fmt", "rgba", "-video_size", fmt.Sprintf("%dx%d", format.Width, format.Height),
			"-framerate", strconv.Itoa(format.FPS),
		},
		OutputArgs: []string{
			"-an", "-c:v", "libx264", "-preset", "medium", "-crf", "21", "-pix_fmt", "yuv420p", "-g", strconv.Itoa(2 * format.FPS),
			"-movflags", "+faststart", "-map_metadata", "-1", "-fflags", "+bitexact", "-flags:v", "+bitexact", "-threads", "1",
		},
		Output: path, OutputBytes: maxFileBytes, CPU: encodeTimeout,
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
