package demo

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"vqa/handlers/media/paint"
)

const (
	// renderTimeout bounds the making of one file, on a slow machine that has other
	// things to do.
	renderTimeout = 5 * time.Minute
	// killWait is how long ffmpeg may take to end when it is told to.
	killWait = 5 * time.Second
)

// exact keeps dates, versions and the number of cores out of a file.
var exact = []string{"-map_metadata", "-1", "-fflags", "+bitexact", "-flags:v", "+bitexact", "-threads", "1"}

// Render draws the clip into a new file, an H.264 MP4 that can be played while it is
// loaded.
func (s Scene) Render(ctx context.Context, path string) error {
	picture := s.painter()
	return Encode(ctx, path, fps, s.durationS*fps, func(atS float64) paint.Canvas { return picture(atS).Canvas })
}

// Encode makes a file of so many pictures, so many a second, each painted for its time in
// seconds. The pictures are Width by Height.
func Encode(ctx context.Context, path string, fps, pictures int, picture func(atS float64) paint.Canvas) error {
	ctx, cancel := context.WithTimeout(ctx, renderTimeout)
	defer cancel()
	args := []string{"-nostdin", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgba", "-video_size", fmt.Sprintf("%dx%d", Width, Height),
		"-framerate", strconv.Itoa(fps), "-i", "pipe:0", "-an", "-c:v", "libx264", "-preset", "medium", "-crf", "21", "-pix_fmt", "yuv420p",
		"-g", strconv.Itoa(2 * fps), "-movflags", "+faststart"}
	cmd, said := tool(ctx, append(append(args, exact...), "file:"+path))
	input, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("ffmpeg: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("ffmpeg: %w", err)
	}
	var broken error
	for i := range pictures {
		if _, broken = input.Write(picture(float64(i) / float64(fps)).Pix); broken != nil {
			break
		}
	}
	broken = errors.Join(broken, input.Close())
	// What ffmpeg says about its end explains a broken pipe.
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("ffmpeg: %w: %s", err, strings.TrimSpace(said.String()))
	}
	return broken
}

// Thumbnail writes the picture of a video at a time into a new file, a JPEG as wide as
// the scenes are.
func Thumbnail(ctx context.Context, video, path string, atS float64) error {
	ctx, cancel := context.WithTimeout(ctx, renderTimeout)
	defer cancel()
	args := []string{"-nostdin", "-v", "error", "-y", "-ss", strconv.FormatFloat(atS, 'f', 3, 64), "-i", "file:" + video,
		"-frames:v", "1", "-vf", fmt.Sprintf("scale=%d:-2:flags=area", Width), "-c:v", "mjpeg", "-q:v", "3", "-f", "image2", "-update", "1"}
	cmd, said := tool(ctx, append(append(args, exact...), "file:"+path))
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("ffmpeg: %w: %s", err, strings.TrimSpace(said.String()))
	}
	return nil
}

// tool prepares ffmpeg, and keeps what it says.
func tool(ctx context.Context, args []string) (*exec.Cmd, *strings.Builder) {
	cmd := exec.CommandContext(ctx, "ffmpeg", args...)
	cmd.WaitDelay = killWait
	var said strings.Builder
	cmd.Stderr = &said
	return cmd, &said
}
