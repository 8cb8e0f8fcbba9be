package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"vqa/gpu/frames"
	"vqa/handlers/intake/ffmpeg"
	"vqa/handlers/intake/fixture"
	"vqa/handlers/intake/scratch"
	"vqa/handlers/jobs"
)

// fetchedFFmpeg is the path of the static build that make setup downloads, in the folder of the
// clone.
const fetchedFFmpeg = ".cache/tools/bin/ffmpeg"

// pictureAtS is the time, in seconds, at which the ball of the fixture is in the middle of the room.
const pictureAtS = 2.5

// openFFmpeg uses the program of VQA_FFMPEG and no other. Without this setting it uses the build that
// make setup downloaded, or else ffmpeg from PATH. Setup downloads a build only when PATH has no
// usable ffmpeg.
func (c config) openFFmpeg(ctx context.Context) (*ffmpeg.Runner, error) {
	if c.FFmpeg != "" {
		runner, err := ffmpeg.New(ctx, c.FFmpeg)
		if err != nil {
			return nil, fmt.Errorf("VQA_FFMPEG: %w", err)
		}
		return runner, nil
	}
	places := []string{"ffmpeg"}
	if exe, err := os.Executable(); err == nil {
		clone := filepath.Dir(filepath.Dir(exe)) // the program is CLONE/bin/vqa
		places = []string{filepath.Join(clone, fetchedFFmpeg), "ffmpeg"}
	}
	return ffmpeg.New(ctx, places...)
}

// extractPicture extracts one frame of the fixture, with the arguments of an analysis. The ball is in
// the middle of the room.
func extractPicture(ctx context.Context, runner *ffmpeg.Runner) (_ []byte, err error) {
	folder, err := scratch.New()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, folder.Remove()) }()
	clip := filepath.Join(folder.Path, fixture.Filename)
	if err := os.WriteFile(clip, fixture.Bytes(), 0o600); err != nil {
		return nil, err
	}
	for frame, err := range frames.Sample(ctx, runner, clip, frames.Options{Within: []frames.Interval{{From: pictureAtS, To: pictureAtS}}}) {
		return frame.Image, err
	}
	return nil, errors.New("no frame of the fixture was extracted")
}

// watchExtraction returns the check of ffmpeg for /readyz.
func (s *server) watchExtraction() *jobs.Extraction {
	return &jobs.Extraction{Log: s.log, Try: func(ctx context.Context) error {
		_, err := extractPicture(ctx, s.ffmpeg)
		return err
	}}
}
