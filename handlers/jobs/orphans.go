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
	// orphansEvery is the least time between two walks over the object store. orphansRest
	// is that time as a multiple of the duration of the last walk, because a large store
	// must not be walked all the time.
	orphansEvery = 20 * time.Second
	orphansRest  = 4
	// orphansTimeout bounds one walk.
	orphansTimeout = 10 * time.Minute
	// unfinishedAge is the time without a write after which a file counts as left by a
	// killed process. Senders and servers that stop sending are cut off within a minute.
	unfinishedAge = time.Hour
)

// Orphans removes objects that no video of the log owns: those of deleted and failed
// videos, and those that a process stored but did not record before it died. A deletion
// enqueues its own removal, which runs sooner. Orphans finds the objects that this removal
// could not know.
type Orphans struct {
	Objects interface {
		Walk(ctx context.Context, visit func(page []objects.Object) error) error
		Remove(ctx context.Context, o objects.Object) error
	}
	Videos interface {
		// VideosOf returns those of some videos that the log knows, including deleted ones.
		VideosOf(ctx context.Context, ids []string) (map[string]video.State, error)
	}
	Now func() time.Time
	Log *slog.Logger

	// unknownObjects is the number of objects of unknown videos that the last walk
	// reported.
	unknownObjects int
}

// Run walks at once, and again after each pause, until ctx ends.
func (o *Orphans) Run(ctx context.Context) {
	for {
		began := time.Now()
		if _, err := o.Sweep(ctx); err != nil && ctx.Err() == nil {
			o.Log.Error("removing orphaned objects failed", "error", err)
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

// Sweep makes one walk and returns the number of objects it removed.
//
// It lists an object before it reads its video, and removes only objects that can never be
// owned again. A deleted or failed video stays so, and a ready one never changes its
// object. So an object on its way into the store is never lost. Objects of videos that the
// log does not know are left alone: another installation may share the bucket, or an older
// database may have been restored beside it.
func (o *Orphans) Sweep(ctx context.Context) (removed int, err error) {
	ctx, cancel := context.WithTimeout(ctx, orphansTimeout)
	defer cancel()
	unknown := 0
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
				unknown++
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
		return removed, fmt.Errorf("walk the object store: %w", err)
	}
	if unknown != o.unknownObjects {
		o.Log.Warn("the object store holds objects of videos that are not in the log; they are not removed", "count", unknown)
		o.unknownObjects = unknown
	}
	return removed, nil
}

func (o *Orphans) abandoned(object objects.Object) bool {
	return object.Unfinished && o.Now().Sub(object.ModTime) > unfinishedAge
}

// owned reports whether a video may still own an object.
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
