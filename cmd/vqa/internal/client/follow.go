package client

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

const (
	// PollEvery keeps within the contract's 600 reads a minute.
	PollEvery = 250 * time.Millisecond
	// outage is how long a server that does not answer is believed to come back:
	// after a restart an analysis goes on.
	outage = 30 * time.Second
	// cancelTimeout bounds the cancel that follows an interrupt.
	cancelTimeout = 5 * time.Second
)

// NewIdempotencyKey returns a random key for one request that changes something.
func NewIdempotencyKey() string { return uuid.NewString() }

// Follow reads an analysis until it is terminal and reports every reading. When ctx
// ends first the analysis is canceled, so that work nobody waits for is not billed.
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

// FollowNarrative reads a completed analysis until its narrative is there, or will not be.
// The answer does not wait longer than ctx for it, nor for a server that is gone.
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

// CancelError says that an analysis that nobody waits for goes on.
type CancelError struct{ Err error }

// Error implements error.
func (e *CancelError) Error() string { return "cancel: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *CancelError) Unwrap() error { return e.Err }

// abandon cancels an analysis although ctx has ended. One that ended meanwhile is
// none of our concern.
func abandon(ctx context.Context, c *Client, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	_, err := c.CancelAnalysis(ctx, id)
	if err == nil || HasCode(err, "analysis_not_cancelable") {
		return nil
	}
	return &CancelError{err}
}
