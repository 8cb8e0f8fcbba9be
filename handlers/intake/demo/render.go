package demo

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"vqa/handlers/intake/demo/paint"
	"vqa/handlers/intake/ffmpeg"
)

const (
	// renderTimeout bounds the making of one file, on a slow machine that has other
	// things to do. It is its CPU time as well.
	renderTimeout = 5 * time.Minute
	// maxFileBytes bounds one file; a scene takes a few hundred kB.
	maxFileBytes = 64 << 20
)

// exact keeps dates, versions and the number of cores out of a file.
var exact = []string{"-map_metadata", "-1", "-fflags", "+bitexact", "-flags:v", "+bitexact", "-threads", "1"}

// Render draws the clip into a new file, an H.264 MP4 that can be played while it is
// loaded.
func (s Scene) Render(ctx context.Context, runner *ffmpeg.Runner, path string) error {
	picture := s.painter()
	return Encode(ctx, runner, path, fps, s.durationS*fps, func(atS float64) paint.Canvas { return picture(atS).Canvas })
}

// Encode makes a file of so many pictures, so many a second, each painted for its time in
// seconds. The pictures are Width by Height.
func Encode(ctx context.Context, runner *ffmpeg.Runner, path string, fps, pictures int, picture func(atS float64) paint.Canvas) error {
	ctx, cancel := context.WithTimeout(ctx, renderTimeout)
	defer cancel()
	p, err := runner.Start(ctx, ffmpeg.Job{
		InputArgs: []string{"-f", "rawvideo", "-pix_fmt", "rgba", "-video_size", fmt.Sprintf("%dx%d", Width, Height), "-framerate", strconv.Itoa(fps)},
		OutputArgs: slices.Concat([]string{"-an", "-c:v", "libx264", "-preset", "medium", "-crf", "21", "-pix_fmt", "yuv420p",
			"-g", strconv.Itoa(2 * fps), "-movflags", "+faststart"}, exact),
		Output: path, OutputBytes: maxFileBytes, CPU: renderTimeout,
	})
	if err != nil {
		return err
	}
	var broken error
	for i := range pictures {
		if _, broken = p.Stdin.Write(picture(float64(i) / float64(fps)).Pix); broken != nil {
			break
		}
	}
	// What ffmpeg says about its end explains a broken pipe.
	if err := p.Wait(); err != nil {
		return err
	}
	return broken
}

// Thumbnail writes the picture of a video at a time into a new file, a JPEG as wide as
// the scenes are.
func Thumbnail(ctx context.Context, runner *ffmpeg.Runner, video, path string, atS float64) error {
	ctx, cancel := context.WithTimeout(ctx, renderTimeout)
	defer cancel()
	_, err := runner.Output(ctx, ffmpeg.Job{
		Input: video, InputArgs: []string{"-ss", strconv.FormatFloat(atS, 'f', 3, 64)},
		OutputArgs: slices.Concat([]string{"-frames:v", "1", "-vf", fmt.Sprintf("scale=%d:-2:flags=area", Width), "-c:v", "mjpeg", "-q:v", "3",
			"-f", "image2", "-update", "1"}, exact),
		Output: path, OutputBytes: maxFileBytes, CPU: renderTimeout,
	}, 0)
	return err
}
