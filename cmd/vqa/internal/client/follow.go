package client

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

const (
	// PollEvery stays below the limit of 600 reads per minute (docs/contract.md#rates).
	PollEvery = 250 * time.Millisecond
	// outage is how long a server may fail to answer before following ends with an error. An
	// analysis continues after a restart of the server.
	outage = 30 * time.Second
	// cancelTimeout bounds the request that cancels an analysis after an interrupt.
	cancelTimeout = 5 * time.Second
)

// NewIdempotencyKey returns a random key for one request that changes something.
func NewIdempotencyKey() string { return uuid.NewString() }

// Follow reads an analysis until its state is terminal, and calls report with every version. When
// ctx ends first, it cancels the analysis, so that the caller does not pay for an unread answer.
func Follow(ctx context.Context, c *Client, a Analysis, every time.Duration, report func(Analysis)) (Analysis, error) {
	var lost time.Time
	for {
		report(a)
		if a.Terminal() {
			return a, nil
		}
		if err := sleep(ctx, every); err != nil {
			return a, errors.Join(err, abandon(ctx, c, a.ID))
		}
		next, err := c.Analysis(ctx, a.ID)
		var refused *Error
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

// FollowNarrative reads a completed analysis until its narrative has been written or has failed. It
// returns the analysis without a narrative when ctx ends or the server does not answer.
func FollowNarrative(ctx context.Context, c *Client, a Analysis, every time.Duration) Analysis {
	for a.Narrating() {
		if err := sleep(ctx, every); err != nil {
			return a
		}
		next, err := c.Analysis(ctx, a.ID)
		if err != nil {
			return a
		}
		a = next
	}
	return a
}

// CancelError means that an analysis could not be canceled and continues.
type CancelError struct{ Err error }

// Error implements error.
func (e *CancelError) Error() string { return "cancel: " + e.Err.Error() }

// Unwrap returns the error of the request.
func (e *CancelError) Unwrap() error { return e.Err }

// abandon cancels an analysis although ctx has ended. An analysis that has ended in the meantime is
// not an error.
func abandon(ctx context.Context, c *Client, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	_, err := c.CancelAnalysis(ctx, id)
	if err == nil || HasCode(err, "analysis_not_cancelable") {
		return nil
	}
	return &CancelError{err}
}
