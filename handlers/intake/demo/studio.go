package demo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

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
	videoExtension     = ".mp4"
	thumbnailExtension = ".jpg"
)

const (
	// thumbnailTimeout bounds the making of one thumbnail on a slow, busy machine. It bounds
	// the CPU time too.
	thumbnailTimeout = time.Minute
	// maxThumbnailBytes is far above the size of a thumbnail, which has about 40 kB.
	maxThumbnailBytes = 1 << 20
)

// exact makes the same file on every run of one ffmpeg release, on any number of cores.
var exact = []string{"-map_metadata", "-1", "-fflags", "+bitexact", "-flags:v", "+bitexact", "-threads", "1"}

// ThumbnailKey is the object with the thumbnail of a stored demo video.
func ThumbnailKey(videoKey string) string {
	return strings.TrimSuffix(videoKey, videoExtension) + thumbnailExtension
}

// Studio stores the files of scenes.
type Studio struct {
	Objects *objects.Store
	Prober  *probe.Prober
	FFmpeg  *ffmpeg.Runner
}

// Make probes the clip of a scene and stores it with its thumbnail.
func (s *Studio) Make(ctx context.Context, scene Scene) (f video.File, err error) {
	data, err := scene.clip()
	if err != nil {
		return video.File{}, err
	}
	folder, err := scratch.New()
	if err != nil {
		return video.File{}, err
	}
	defer func() { err = errors.Join(err, folder.Remove()) }()
	clip, thumbnail := filepath.Join(folder.Path, "clip"+videoExtension), filepath.Join(folder.Path, "thumbnail"+thumbnailExtension)
	if err := os.WriteFile(clip, data, 0o600); err != nil {
		return video.File{}, fmt.Errorf("demo: %w", err)
	}
	if err := writeThumbnail(ctx, s.FFmpeg, clip, thumbnail, scene.ThumbnailS); err != nil {
		return video.File{}, fmt.Errorf("demo: thumbnail of %s: %w", scene.Name, err)
	}
	if f, err = s.examine(ctx, clip, len(data)); err != nil {
		return video.File{}, err
	}
	f.ObjectKey = "demo/" + scene.VideoID() + "." + hash(data) + videoExtension
	picture, err := os.ReadFile(thumbnail)
	if err != nil {
		return video.File{}, fmt.Errorf("demo: %w", err)
	}
	// The video is stored last, so every stored video has a thumbnail.
	if err := s.store(ctx, picture, ThumbnailKey(f.ObjectKey), ThumbnailType); err != nil {
		return video.File{}, err
	}
	return f, s.store(ctx, data, f.ObjectKey, VideoType)
}

// Discard removes the files of a video that was not recorded.
func (s *Studio) Discard(ctx context.Context, f video.File) error {
	return errors.Join(s.Objects.Delete(ctx, f.ObjectKey), s.Objects.Delete(ctx, ThumbnailKey(f.ObjectKey)))
}

// examine measures a video. It leaves out the length that the container claims, because the
// clip is ours and can be trusted.
func (s *Studio) examine(ctx context.Context, path string, size int) (video.File, error) {
	found, err := s.Prober.Probe(ctx, path, probe.Movie{})
	if err != nil {
		return video.File{}, err
	}
	return video.File{
		ContentType: VideoType, SizeBytes: int64(size), DurationMicros: found.DurationMicros,
		Width: found.Width, Height: found.Height, FPS: found.FPS,
	}, nil
}

// hash is the start of the SHA-256 of a clip. It distinguishes the clips of one scene in
// different releases.
func hash(clip []byte) string {
	sum := sha256.Sum256(clip)
	return hex.EncodeToString(sum[:8])
}

func (s *Studio) store(ctx context.Context, data []byte, key, contentType string) error {
	w, err := s.Objects.Writer(ctx, key, contentType, video.MaxBytes)
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := io.Copy(w, bytes.NewReader(data)); err != nil {
		return fmt.Errorf("demo: storing %s: %w", key, err)
	}
	return w.Commit()
}

// writeThumbnail writes the frame at a time of a video into a new JPEG file.
func writeThumbnail(ctx context.Context, runner *ffmpeg.Runner, video, path string, atS float64) error {
	ctx, cancel := context.WithTimeout(ctx, thumbnailTimeout)
	defer cancel()
	_, err := runner.Output(ctx, ffmpeg.Job{
		Input: video, InputArgs: []string{"-ss", strconv.FormatFloat(atS, 'f', 3, 64)},
		OutputArgs: slices.Concat([]string{"-frames:v", "1", "-vf", fmt.Sprintf("scale=%d:-2:flags=area", width), "-c:v", "mjpeg", "-q:v", "3",
			"-f", "image2", "-update", "1"}, exact),
		Output: path, OutputBytes: maxThumbnailBytes, CPU: thumbnailTimeout,
	}, 0)
	return err
}
