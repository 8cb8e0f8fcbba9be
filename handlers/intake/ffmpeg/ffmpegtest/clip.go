package ffmpegtest

import (
	"context"
	"errors"
	"fmt"
	"image"
	"strconv"

	"vqa/handlers/intake/ffmpeg"
)

// WriteClip writes an H.264 MP4 to path. Picture k is shown from k/fps on for 1/fps seconds.
// There is at least one picture. All have one size, with even sides.
func WriteClip(ctx context.Context, path string, fps int, pictures []*image.RGBA) error {
	runner, err := found()
	if err != nil {
		return err
	}
	size := pictures[0].Bounds().Size()
	// At least 10 frames per second, like a camera.
	rate := max(fps, 10/fps*fps)
	p, err := runner.Start(ctx, ffmpeg.Job{
		InputArgs: []string{
			"-f", "rawvideo", "-pix_fmt", "rgba", "-video_size", fmt.Sprintf("%dx%d", size.X, size.Y), "-framerate", strconv.Itoa(fps),
		},
		OutputArgs: []string{
			"-r", strconv.Itoa(rate), "-c:v", "libx264", "-preset", "veryfast", "-crf", "18", "-pix_fmt", "yuv420p", "-movflags", "+faststart",
		},
		Output: path, OutputBytes: maxFileBytes, CPU: encodeTimeout,
	})
	if err != nil {
		return err
	}
	var broken error
	for _, picture := range pictures {
		if _, broken = p.Stdin.Write(picture.Pix); broken != nil {
			break
		}
	}
	// ffmpeg reports why it closed the pipe.
	return errors.Join(p.Wait(), broken)
}
