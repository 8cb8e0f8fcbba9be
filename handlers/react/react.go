package react

import (
	"context"

	"vqa/domain/analysis"
	"vqa/domain/stream"
	"vqa/domain/video"
	"vqa/domain/webhook"
	"vqa/eventstore"
	"vqa/handlers/command"
)

// Group is the name of this subscriber of the log.
const Group = "jobs"

// Jobs enqueues work. Enqueuing the same work twice adds nothing.
type Jobs interface {
	Analyze(ctx context.Context, run command.Run) error
	Draw(ctx context.Context, work command.Afterwork) error
	Narrate(ctx context.Context, work command.Afterwork) error
	Fetch(ctx context.Context, fetch command.Fetch) error
	// RemoveVideo deletes the stored objects of a deleted video.
	RemoveVideo(ctx context.Context, removal command.Removal) error
	// FinishRecording makes the files of the recording of a live stream.
	FinishRecording(ctx context.Context, streamID string) error
	// RemoveRecording deletes the stored objects of a recording that failed, or was deleted.
	RemoveRecording(ctx context.Context, streamID string) error
	// Notify sends an email about a webhook endpoint.
	Notify(ctx context.Context, notice command.Notice) error
}

// Reactor enqueues the jobs that events require.
type Reactor struct{ Jobs Jobs }

// Handle enqueues the jobs of an event. Most events have none.
func (r Reactor) Handle(ctx context.Context, recorded eventstore.Recorded) error {
	switch e := recorded.Event.(type) {
	case analysis.Created:
		if !e.Livemode {
			return nil // a test-mode analysis is answered when it is created
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
	case webhook.Warned:
		return r.Jobs.Notify(ctx, command.Notice{
			AccountID: e.AccountID, EndpointID: e.EndpointID, Position: recorded.Position, At: e.At, FailingSince: e.FailingSince,
		})
	case webhook.Disabled:
		if e.Reason != webhook.AutoFailure {
			return nil
		}
		return r.Jobs.Notify(ctx, command.Notice{
			AccountID: e.AccountID, EndpointID: e.EndpointID, Position: recorded.Position, At: e.At, Disabled: true,
		})
	case stream.Ended:
		switch e.Recording {
		case stream.RecordingAvailable:
			return r.Jobs.FinishRecording(ctx, e.StreamID)
		case stream.RecordingFailed, stream.RecordingNone: // parts may be stored that the log does not have
			return r.Jobs.RemoveRecording(ctx, e.StreamID)
		default:
			return nil
		}
	case stream.RecordingDeleted:
		return r.Jobs.RemoveRecording(ctx, e.StreamID)
	case video.Deleted:
		// A video that was never ready may have an upload too.
		return r.Jobs.RemoveVideo(ctx, command.Removal{
			AccountID: recorded.Meta.AccountID, VideoID: e.VideoID, Key: e.ObjectKey, Attempt: 1, Cause: command.CausedBy(recorded),
		})
	}
	return nil
}

// completed enqueues the work that follows the answer.
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
