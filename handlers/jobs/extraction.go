package jobs

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"vqa/domain/fault"
)

const (
	// extractionEvery is the time between two trials while frames can be extracted,
	// extractionRetry that after a failure. A trial takes 0.1 s of a core.
	extractionEvery = time.Minute
	extractionRetry = 5 * time.Second
	// extractionTimeout bounds a trial on a busy machine.
	extractionTimeout = 30 * time.Second
)

// Extraction checks regularly whether this node can extract frames from a video. ffmpeg may
// be removed or replaced while the service runs; then every analysis fails.
type Extraction struct {
	// Try extracts one frame as an analysis does.
	Try func(ctx context.Context) error
	Log *slog.Logger

	// failure points to the error of the last trial, which is nil after a success. It is
	// nil before the first trial ends.
	failure atomic.Pointer[error]
}

var errUntried = errors.New("the first check of frame extraction has not ended")

// Run tries at once and then regularly until ctx ends.
func (e *Extraction) Run(ctx context.Context) {
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-next.C:
		case <-ctx.Done():
			return
		}
		pause := extractionEvery
		if e.try(ctx) != nil {
			pause = extractionRetry
		}
		next.Reset(pause)
	}
}

func (e *Extraction) try(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, extractionTimeout)
	defer cancel()
	err := e.Try(limited)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	last := e.failure.Swap(&err)
	failedBefore := last != nil && *last != nil
	switch {
	case err != nil && !failedBefore:
		e.Log.Error("frames cannot be extracted, so every analysis fails: check the ffmpeg installation", "error", err)
	case err == nil && failedBefore:
		e.Log.Info("frames can be extracted again")
	}
	return err
}

// Ready returns nil when the last trial succeeded, else inference_unavailable. It never
// waits.
func (e *Extraction) Ready(context.Context) error {
	err := errUntried
	if last := e.failure.Load(); last != nil {
		err = *last
	}
	if err == nil {
		return nil
	}
	return fault.New(fault.InferenceUnavailable, "").WithRetryAfter(int(extractionRetry.Seconds())).WithCause(err)
}
