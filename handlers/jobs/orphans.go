package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"vqa/domain/video"
	"vqa/handlers/objects"
)

const (
	// orphansEvery is the least time between two walks over the object store, and
	// orphansRest the time between them as a multiple of what the last one took: a large
	// store must not be walked all the time.
	orphansEvery = 20 * time.Second
	orphansRest  = 4
	// orphansTimeout bounds one walk.
	orphansTimeout = 10 * time.Minute
	// unfinishedAge is when a file that nobody has written to is what a killed process
	// left. Senders and servers that fall silent are cut off within a minute.
	unfinishedAge = time.Hour
)

// Orphans removes objects that no video of the log owns: those of deleted and failed
// videos, and what was stored and never recorded because a process died. The removal that
// follows a deletion is a job of its own and comes sooner; this finds what it could not know.
type Orphans struct {
	Objects interface {
		Walk(ctx context.Context, visit func(page []objects.Object) error) error
		Remove(ctx context.Context, o objects.Object) error
	}
	Videos interface {
		// VideosOf returns those of some videos that the log knows, deleted ones included.
		VideosOf(ctx context.Context, ids []string) (map[string]video.State, error)
	}
	Now func() time.Time
	Log *slog.Logger

	// strangers is how many objects of unknown videos the last walk told of.
	unknownObjects int
}

// Run walks at once and then again and again until ctx ends.
func (o *Orphans) Run(ctx context.Context) {
	for {
		began := time.Now()
		if _, err := o.Sweep(ctx); err != nil && ctx.Err() == nil {
			o.Log.Error("looking for orphaned objects failed", "error", err)
		}
		rest := time.NewTimer(max(orphansEvery, orphansRest*time.Since(began)))
		select {
		case <-rest.C:
		case <-ctx.Done():
			rest.Stop()
			return
		}
	}
}

// Sweep makes one walk and returns how many objects it removed.
//
// An object is listed before its video is read, and only what can never be owned again is
// removed: a deleted or failed video stays so, and a ready one never changes its object. So
// nothing that is on its way into the store is lost, whatever happens in between. Objects of
// videos that the log does not know are left alone: another installation may share the
// bucket, or an older database may have been restored beside it.
func (o *Orphans) Sweep(ctx context.Context) (removed int, err error) {
	ctx, cancel := context.WithTimeout(ctx, orphansTimeout)
	defer cancel()
	strangers := 0
	err = o.Objects.Walk(ctx, func(page []objects.Object) error {
		ids := make([]string, len(page))
		for i, object := range page {
			ids[i] = object.VideoID
		}
		videos, err := o.Videos.VideosOf(ctx, ids)
		if err != nil {
			return err
		}
		for _, object := range page {
			v, known := videos[object.VideoID]
			if !known {
				strangers++
			}
			if !o.abandoned(object) && (!known || owned(object, v)) {
				continue
			}
			if err := o.Objects.Remove(ctx, object); err != nil {
				return err
			}
			removed++
			o.Log.Info("removed an orphaned object", "key", object.Key, "video_status", string(v.Status))
		}
		return nil
	})
	if err != nil {
		return removed, fmt.Errorf("walking the object store: %w", err)
	}
	if strangers != o.unknownObjects {
		o.Log.Warn("the object store holds objects of videos that the log does not know; they are left alone", "count", strangers)
		o.unknownObjects = strangers
	}
	return removed, nil
}

func (o *Orphans) abandoned(object objects.Object) bool {
	return object.Unfinished && o.Now().Sub(object.ModTime) > unfinishedAge
}

// owned reports whether an object may still be a video's.
func owned(object objects.Object, v video.State) bool {
	switch {
	case v.Status == video.Removed, v.Status == video.FailedStatus:
		return false
	case object.Kind == objects.Upload:
		return v.Status == video.AwaitingUpload
	case object.Kind == objects.Video && v.Status == video.ReadyStatus:
		return v.File != nil && v.File.ObjectKey == object.Key
	default:
		return true
	}
}
