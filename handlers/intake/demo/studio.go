package demo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"vqa/domain/video"
	"vqa/handlers/intake/ffmpeg"
	"vqa/handlers/intake/probe"
	"vqa/handlers/intake/scratch"
	"vqa/handlers/objects"
)

// The content types of the files.
const (
	VideoType     = "video/mp4"
	ThumbnailType = "image/jpeg"
)

const (
	videoEnding     = ".mp4"
	thumbnailEnding = ".jpg"
)

// ThumbnailKey is the object with the thumbnail of a stored demo video.
func ThumbnailKey(videoKey string) string {
	return strings.TrimSuffix(videoKey, videoEnding) + thumbnailEnding
}

// Studio makes the files of scenes.
type Studio struct {
	Objects *objects.Store
	Prober  *probe.Prober
	FFmpeg  *ffmpeg.Runner
}

// Make draws a scene, probes it, and stores it with its thumbnail.
func (s *Studio) Make(ctx context.Context, scene Scene) (f video.File, err error) {
	folder, err := scratch.New()
	if err != nil {
		return video.File{}, err
	}
	defer func() { err = errors.Join(err, folder.Remove()) }()
	clip, thumbnail := filepath.Join(folder.Path, "clip"+videoEnding), filepath.Join(folder.Path, "thumbnail"+thumbnailEnding)
	if err := scene.Render(ctx, s.FFmpeg, clip); err != nil {
		return video.File{}, fmt.Errorf("drawing %s: %w", scene.Name, err)
	}
	if err := Thumbnail(ctx, s.FFmpeg, clip, thumbnail, scene.ThumbnailS); err != nil {
		return video.File{}, fmt.Errorf("the thumbnail of %s: %w", scene.Name, err)
	}
	if f, err = s.examine(ctx, clip); err != nil {
		return video.File{}, err
	}
	hash, err := hashOf(clip)
	if err != nil {
		return video.File{}, err
	}
	f.ObjectKey = "demo/" + scene.VideoID() + "." + hash + videoEnding
	// The video comes last: where it is, its thumbnail is too.
	if err := s.store(ctx, thumbnail, ThumbnailKey(f.ObjectKey), ThumbnailType); err != nil {
		return video.File{}, err
	}
	return f, s.store(ctx, clip, f.ObjectKey, VideoType)
}

// Discard removes the files of a video that was not recorded after all.
func (s *Studio) Discard(ctx context.Context, f video.File) error {
	return errors.Join(s.Objects.Delete(ctx, f.ObjectKey), s.Objects.Delete(ctx, ThumbnailKey(f.ObjectKey)))
}

// examine finds the size and the length of a video. What its container claims is not kept:
// this service wrote it.
func (s *Studio) examine(ctx context.Context, path string) (video.File, error) {
	found, err := s.Prober.Probe(ctx, path)
	if err != nil {
		return video.File{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return video.File{}, fmt.Errorf("demo: %w", err)
	}
	return video.File{
		ContentType: VideoType, SizeBytes: info.Size(), DurationMicros: found.DurationMicros,
		Width: found.Width, Height: found.Height, FPS: found.FPS,
	}, nil
}

// hashOf is the start of a file's SHA-256, enough to tell two files of a scene apart.
func hashOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("demo: %w", err)
	}
	h := sha256.New()
	_, err = io.Copy(h, file)
	if err := errors.Join(err, file.Close()); err != nil {
		return "", fmt.Errorf("demo: reading %s: %w", filepath.Base(path), err)
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

func (s *Studio) store(ctx context.Context, path, key, contentType string) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w, err := s.Objects.Writer(ctx, key, contentType, video.MaxBytes)
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := io.Copy(w, file); err != nil {
		return fmt.Errorf("demo: storing %s: %w", key, err)
	}
	return w.Commit()
}
