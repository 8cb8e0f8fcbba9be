package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"vqa/domain/fault"
	"vqa/domain/video"
	"vqa/handlers/command"
)

// fetchTimeout bounds one attempt at a fetch, however slow the server is.
const fetchTimeout = 30 * time.Minute

// Intake brings a video in from a URL.
type Intake interface {
	// FromURL fetches, stores and probes a video for one attempt. Its faults are those that
	// a failed video may have.
	FromURL(ctx context.Context, accountID, videoID string, attempt int, url string) (video.File, error)
}

// Remover deletes a stored object. A missing object is not an error.
type Remover interface {
	Delete(ctx context.Context, key string) error
}

// Fetcher runs attempts at fetching videos.
type Fetcher struct {
	Commands *command.Service
	Intake   Intake
	Objects  Remover
	Log      *slog.Logger
}

// Run makes one attempt. When another try may succeed, the failure is left to the next
// attempt. The sweep counts the attempts. A fetch that paused may be made again.
func (f *Fetcher) Run(ctx context.Context, fetch command.Fetch) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	file, err := f.Intake.FromURL(ctx, fetch.AccountID, fetch.VideoID, fetch.Attempt, fetch.URL)
	switch {
	case err != nil && classify(err).infrastructure():
		// This includes a busy node that decoded no frame in time. That does not mean that the
		// video is broken.
		return pausing(fmt.Errorf("fetch %s: %w", fetch.VideoID, err))
	case fault.Of(err) != nil:
		f.Log.Info("video failed", "video_id", fetch.VideoID, "error", err)
		return pausing(f.Commands.FailVideo(ctx, fetch, err))
	case err != nil:
		return fmt.Errorf("fetch %s: %w", fetch.VideoID, err)
	}
	waste, err := f.Commands.FinishFetch(ctx, fetch, file)
	if err != nil || !waste {
		return pausing(err)
	}
	// The video was removed while its bytes arrived, is longer than the plan allows, or
	// another attempt was first.
	return pausing(f.Objects.Delete(ctx, file.ObjectKey))
}
