package intake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"vqa/domain/fault"
	"vqa/domain/video"
	"vqa/handlers/intake/egress"
	"vqa/handlers/intake/ffmpeg"
	"vqa/handlers/intake/probe"
	"vqa/handlers/objects"
)

// The content types of the contract.
const (
	contentMP4       = "video/mp4"
	contentQuickTime = "video/quicktime"
)

// probePatience bounds the wait of a request for a slot. It leaves enough of the request's time
// for the probe.
const probePatience = 20 * time.Second

// Intake turns bytes into stored, probed videos.
type Intake struct {
	Objects *objects.Store
	Client  *egress.Client
	Prober  *probe.Prober
	// Slots bounds the probes that run at once. nil means no limit.
	Slots *Slots
}

// Inspect implements command.Uploads.
func (in *Intake) Inspect(ctx context.Context, v video.State) (video.File, string, error) {
	key := objects.UploadKey(v.ID)
	// A missing upload is reported at once, without waiting for a slot.
	if _, err := in.statUpload(ctx, key); err != nil {
		return video.File{}, "", err
	}
	leave, err := in.Slots.Enter(ctx, v.AccountID, probePatience)
	if err != nil {
		return video.File{}, "", err
	}
	defer leave()
	info, err := in.statUpload(ctx, key)
	if err != nil {
		return video.File{}, "", err
	}
	if err := in.checkSize(ctx, v, key, info.SizeBytes); err != nil {
		return video.File{}, "", err
	}
	f, err := in.probe(ctx, key, info.SizeBytes)
	f.ObjectKey, f.ContentType = objects.KeptKey(v.ID, info.ETag), v.ContentType
	return f, info.ETag, cutUpload(err)
}

// checkSize refuses an upload whose size differs from the declared one. It removes an upload
// over the limit, which can happen only on S3: a presigned PUT cannot limit the length.
func (in *Intake) checkSize(ctx context.Context, v video.State, key string, size int64) error {
	err := video.CheckUploadSize(v.DeclaredBytes, size)
	if size > video.MaxBytes {
		err = fault.New(fault.VideoTooLarge, "")
	}
	if size > video.UploadLimit(v.DeclaredBytes) {
		err = errors.Join(err, in.Objects.Delete(ctx, key))
	}
	return err
}

func (in *Intake) statUpload(ctx context.Context, key string) (objects.Info, error) {
	info, err := in.Objects.Stat(ctx, key)
	if fault.Has(err, fault.ResourceNotFound) {
		return objects.Info{}, fault.New(fault.UploadIncomplete, "Nothing was uploaded. Upload the file before you complete the video.")
	}
	return info, err
}

// Keep implements command.Uploads.
func (in *Intake) Keep(ctx context.Context, videoID, key, ticket string) error {
	return in.Objects.Promote(ctx, objects.UploadKey(videoID), key, ticket)
}

// Close implements command.Uploads.
func (in *Intake) Close(ctx context.Context, videoID string) error {
	return in.Objects.Freeze(ctx, objects.UploadKey(videoID))
}

// Room implements command.Uploads.
func (in *Intake) Room(need int64) error { return in.Objects.Room(need) }

// Discard implements command.Uploads.
func (in *Intake) Discard(ctx context.Context, key string) error { return in.Objects.Delete(ctx, key) }

// Remove implements command.Uploads.
func (in *Intake) Remove(ctx context.Context, videoID, key string) error {
	return in.Objects.DeleteVideo(ctx, videoID, key)
}

// RemoveRecording implements command.Uploads.
func (in *Intake) RemoveRecording(ctx context.Context, streamID string) error {
	return in.Objects.DeleteRecording(ctx, streamID)
}

// FromURL implements jobs.Intake. The bytes of a refused video are removed. Each attempt has its
// own object, so a late attempt cannot change the bytes of an earlier one.
func (in *Intake) FromURL(ctx context.Context, accountID, videoID string, attempt int, url string) (video.File, error) {
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
	f, err := in.probeFetched(ctx, accountID, key, fetched.SizeBytes)
	if err == nil {
		f.ObjectKey = key
		f.ContentType, err = in.contentType(ctx, key)
	}
	if err != nil {
		return video.File{}, errors.Join(err, in.Objects.Delete(context.WithoutCancel(ctx), key))
	}
	return f, nil
}

// probeFetched waits for a slot as long as the attempt lasts, because no request is waiting.
func (in *Intake) probeFetched(ctx context.Context, accountID, key string, size int64) (video.File, error) {
	leave, err := in.Slots.Enter(ctx, accountID, 0)
	if err != nil {
		return video.File{}, err
	}
	defer leave()
	f, err := in.probe(ctx, key, size)
	if short, isCut := errors.AsType[*probe.CutError](err); isCut {
		err = fault.New(fault.URLFetchFailed, "The download broke off. "+short.Error()+" Try again.").WithCause(err)
	}
	return f, err
}

// cutUpload explains an upload that ends too early. Without its index, the file cannot even be
// recognized as a video that is only cut.
func cutUpload(err error) error {
	short, isCut := errors.AsType[*probe.CutError](err)
	switch {
	case !isCut:
		return err
	case short.Index:
		return fault.New(fault.VideoUnreadable, short.Error()+" Upload the complete file.").WithCause(err)
	}
	return fault.New(fault.UploadIncomplete, short.Error()+" Upload the complete file.").WithCause(err)
}

// probe examines a stored object.
func (in *Intake) probe(ctx context.Context, key string, size int64) (video.File, error) {
	source, movie, err := in.inspect(ctx, key)
	if err != nil {
		return video.File{}, err
	}
	found, err := in.Prober.Probe(ctx, source, movie)
	if err != nil {
		// An object store that went away meanwhile looks like an unreadable video.
		if _, gone := in.Objects.Stat(ctx, key); gone != nil && !fault.Has(gone, fault.ResourceNotFound) {
			return video.File{}, gone
		}
		return video.File{}, err
	}
	return video.File{
		SizeBytes: size, ClaimedMicros: movie.ClaimedMicros, DurationMicros: found.DurationMicros,
		Width: found.Width, Height: found.Height, FPS: found.FPS,
	}, nil
}

// inspect reads the boxes of a stored object.
func (in *Intake) inspect(ctx context.Context, key string) (source string, movie probe.Movie, err error) {
	if source, err = in.Objects.Source(ctx, key); err != nil {
		return "", movie, err
	}
	r, err := in.Objects.Reader(ctx, key)
	if err != nil {
		return "", movie, err
	}
	movie, err = probe.Inspect(r)
	return source, movie, errors.Join(err, r.Close())
}

// Source implements jobs.Sources. Decoding reports what is wrong with a damaged video.
func (in *Intake) Source(ctx context.Context, key string) (ffmpeg.Source, error) {
	name, movie, err := in.inspect(ctx, key)
	if _, isCut := errors.AsType[*probe.CutError](err); err != nil && !isCut && !fault.Has(err, fault.VideoUnreadable) {
		return ffmpeg.Source{}, err
	}
	return in.Prober.Look(ctx, ffmpeg.Source{Name: name, Track: movie.Track})
}

// Readable implements jobs.Sources.
func (in *Intake) Readable(ctx context.Context, key string) error {
	return in.Objects.Readable(ctx, key)
}

// contentType distinguishes QuickTime from MP4 by the brand in the first box of the file.
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
