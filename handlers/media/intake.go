package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"vqa/domain/fault"
	"vqa/domain/video"
	"vqa/handlers/media/egress"
	"vqa/handlers/media/objects"
	"vqa/handlers/media/probe"
)

// The content types of the contract.
const (
	contentMP4       = "video/mp4"
	contentQuickTime = "video/quicktime"
)

// Intake turns bytes into stored, probed videos.
type Intake struct {
	Objects *objects.Store
	Client  *egress.Client
	Prober  *probe.Prober
}

// keptTicket is the ticket of bytes that were kept before: the program stopped
// between keeping them and recording it.
const keptTicket = "kept"

// Inspect implements command.Uploads.
func (in *Intake) Inspect(ctx context.Context, videoID, contentType string, declared *int64) (video.File, string, error) {
	key, ticket := objects.UploadKey(videoID), keptTicket
	info, err := in.Objects.Stat(ctx, key)
	if err == nil {
		ticket = info.ETag
	}
	if fault.Has(err, fault.ResourceNotFound) {
		key = objects.VideoKey(videoID)
		info, err = in.Objects.Stat(ctx, key)
	}
	if fault.Has(err, fault.ResourceNotFound) {
		return video.File{}, "", fault.New(fault.UploadIncomplete, "Nothing was uploaded.")
	}
	if err != nil {
		return video.File{}, "", err
	}
	if err := video.CheckUploadSize(declared, info.SizeBytes); err != nil {
		return video.File{}, "", err
	}
	if info.SizeBytes > video.MaxBytes {
		return video.File{}, "", fault.New(fault.VideoTooLarge, "")
	}
	f, err := in.probe(ctx, key, info.SizeBytes)
	f.ObjectKey, f.ContentType = objects.VideoKey(videoID), contentType
	return f, ticket, err
}

// Keep implements command.Uploads.
func (in *Intake) Keep(ctx context.Context, videoID, ticket string) error {
	if ticket == keptTicket {
		return nil
	}
	upload := objects.UploadKey(videoID)
	if err := in.Objects.Promote(ctx, upload, objects.VideoKey(videoID), ticket); err != nil {
		return err
	}
	return in.Objects.Freeze(ctx, upload)
}

// FromURL implements jobs.Intake. Nothing is kept of a video that is refused. Each
// attempt has an object of its own, so that one that comes too late cannot touch the
// bytes of the one that was first.
func (in *Intake) FromURL(ctx context.Context, videoID string, attempt int, url string) (video.File, error) {
	key := fmt.Sprintf("%s.%d", objects.VideoKey(videoID), attempt)
	w, err := in.Objects.Writer(ctx, key, contentMP4, video.MaxBytes)
	if err != nil {
		return video.File{}, err
	}
	defer w.Abort()
	fetched, err := in.Client.Fetch(ctx, url, w, video.MaxBytes, nil)
	if err != nil {
		return video.File{}, err
	}
	if err := w.Commit(); err != nil {
		return video.File{}, err
	}
	f, err := in.probe(ctx, key, fetched.SizeBytes)
	if err == nil {
		f.ObjectKey = key
		f.ContentType, err = in.contentType(ctx, key)
	}
	if err != nil {
		return video.File{}, errors.Join(err, in.Objects.Delete(context.WithoutCancel(ctx), key))
	}
	return f, nil
}

// probe examines a stored object.
func (in *Intake) probe(ctx context.Context, key string, size int64) (video.File, error) {
	source, err := in.Objects.Source(ctx, key)
	if err != nil {
		return video.File{}, err
	}
	found, err := in.Prober.Probe(ctx, source)
	if err != nil {
		return video.File{}, err
	}
	f := video.File{SizeBytes: size, Width: found.Width, Height: found.Height, FPS: found.FPS}
	if found.DurationS != nil {
		// ffprobe prints microseconds, so rounding restores them exactly.
		if micros := int64(math.Round(*found.DurationS * 1e6)); micros > 0 {
			f.DurationMicros = &micros
		}
	}
	return f, nil
}

// contentType tells QuickTime from MP4 by the brand in the first box of the file.
func (in *Intake) contentType(ctx context.Context, key string) (string, error) {
	r, err := in.Objects.Reader(ctx, key)
	if err != nil {
		return "", err
	}
	head := make([]byte, 12)
	_, err = io.ReadFull(r, head)
	if err := errors.Join(err, r.Close()); err != nil {
		return "", fmt.Errorf("reading the head of %s: %w", key, err)
	}
	if !bytes.Equal(head[4:8], []byte("ftyp")) || bytes.Equal(head[8:12], []byte("qt  ")) {
		return contentQuickTime, nil
	}
	return contentMP4, nil
}
