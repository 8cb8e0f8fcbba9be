package main

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

const (
	// pollEvery keeps within the contract's 600 reads a minute.
	pollEvery = 250 * time.Millisecond
	// outage is how long a server that does not answer is believed to come back:
	// after a restart an analysis goes on.
	outage = 30 * time.Second
	// cancelTimeout bounds the cancel that follows an interrupt.
	cancelTimeout = 5 * time.Second
)

func newIdempotencyKey() string { return uuid.NewString() }

// follow reads an analysis until it is terminal and reports every reading. When ctx
// ends first the analysis is canceled, so that work nobody waits for is not billed.
func follow(ctx context.Context, c *client, a analysisResource, every time.Duration, report func(analysisResource)) (analysisResource, error) {
	var lost time.Time
	for {
		report(a)
		if a.terminal() {
			return a, nil
		}
		if err := sleep(ctx, every); err != nil {
			return a, errors.Join(err, abandon(ctx, c, a.ID))
		}
		next, err := c.analysis(ctx, a.ID)
		var refused *apiError
		switch {
		case err == nil:
			a, lost = next, time.Time{}
		case ctx.Err() != nil:
			return a, errors.Join(ctx.Err(), abandon(ctx, c, a.ID))
		case errors.As(err, &refused):
			return a, err
		case lost.IsZero():
			lost = time.Now()
		case time.Since(lost) > outage:
			return a, err
		}
	}
}

// followNarrative reads a completed analysis until its narrative is there, or will not be.
// The answer does not wait longer than ctx for it, nor for a server that is gone.
func followNarrative(ctx context.Context, c *client, a analysisResource, every time.Duration) analysisResource {
	for a.narrating() {
		if err := sleep(ctx, every); err != nil {
			return a
		}
		next, err := c.analysis(ctx, a.ID)
		if err != nil {
			return a
		}
		a = next
	}
	return a
}

// cancelError says that an analysis that nobody waits for goes on.
type cancelError struct{ err error }

// Error implements error.
func (e *cancelError) Error() string { return "cancel: " + e.err.Error() }

// Unwrap returns the cause.
func (e *cancelError) Unwrap() error { return e.err }

// abandon cancels an analysis although ctx has ended. One that ended meanwhile is
// none of our concern.
func abandon(ctx context.Context, c *client, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	_, err := c.cancelAnalysis(ctx, id)
	if err == nil || hasCode(err, "analysis_not_cancelable") {
		return nil
	}
	return &cancelError{err}
}
