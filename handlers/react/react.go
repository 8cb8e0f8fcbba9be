package react

import (
	"context"

	"vqa/domain/analysis"
	"vqa/domain/video"
	"vqa/eventstore"
	"vqa/handlers/command"
)

// Group is the name of this subscriber of the log.
const Group = "jobs"

// Jobs takes work that runs later. Enqueuing the same work twice adds nothing.
type Jobs interface {
	Analyze(ctx context.Context, run command.Run) error
	Draw(ctx context.Context, work command.Afterwork) error
	Narrate(ctx context.Context, work command.Afterwork) error
	Fetch(ctx context.Context, fetch command.Fetch) error
	// RemoveVideo removes what is stored of a video; key is empty when its bytes have none.
	RemoveVideo(ctx context.Context, videoID, key string) error
}

// Reactor starts the jobs that events call for.
type Reactor struct{ Jobs Jobs }

// Handle enqueues what an event calls for; most events call for nothing.
func (r Reactor) Handle(ctx context.Context, recorded eventstore.Recorded) error {
	switch e := recorded.Event.(type) {
	case analysis.Created:
		if !e.Livemode {
			return nil // answered when it was created
		}
		return r.Jobs.Analyze(ctx, command.Run{
			AccountID: e.AccountID, AnalysisID: e.AnalysisID, VideoID: e.VideoID, Attempt: 1, Cause: command.CausedBy(recorded),
		})
	case analysis.Completed:
		return r.completed(ctx, recorded, e)
	case video.Registered:
		if e.Source != video.SourceURL {
			return nil
		}
		return r.Jobs.Fetch(ctx, command.Fetch{
			AccountID: e.AccountID, VideoID: e.VideoID, URL: e.URL, Attempt: 1, Cause: command.CausedBy(recorded),
		})
	case video.Deleted:
		// Also a video that never was ready may have an upload.
		return r.Jobs.RemoveVideo(ctx, e.VideoID, e.ObjectKey)
	}
	return nil
}

// completed starts what is made after the answer.
func (r Reactor) completed(ctx context.Context, recorded eventstore.Recorded, e analysis.Completed) error {
	work := command.Afterwork{
		AccountID: recorded.Meta.AccountID, AnalysisID: e.AnalysisID, Attempt: 1, Cause: command.CausedBy(recorded),
	}
	if e.Drawing {
		if err := r.Jobs.Draw(ctx, work); err != nil {
			return err
		}
	}
	if e.Narrating {
		return r.Jobs.Narrate(ctx, work)
	}
	return nil
}
