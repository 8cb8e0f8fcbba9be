package resources

import (
	"context"
	"time"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/queue"
)

// Analysis is an analysis with its position in the queue. Percent includes the progress within
// the stage.
type Analysis struct {
	analysis.State
	// QueuePosition is 1 for the analysis that starts next. It is nil when the analysis is
	// not queued.
	QueuePosition *int
	// EstimatedStartS is the number of seconds until the work starts. It is nil when the
	// analysis is not queued, or when the speed of the service is not known.
	EstimatedStartS *int
}

// withPositions adds the queue position and the estimate to each queued analysis. Accounts
// take turns (domain/queue).
func (r *Reader) withPositions(ctx context.Context, states []analysis.State) ([]Analysis, error) {
	list := make([]Analysis, len(states))
	latest, queued := "", false
	for i, s := range states {
		list[i].State = s
		if s.Status == analysis.Queued {
			latest, queued = max(latest, s.ID), true
		}
	}
	if !queued {
		return list, nil
	}
	f, now, err := r.forecast(ctx, latest)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if a := &list[i]; a.Status == analysis.Queued {
			position, start := f.Place(a.ID, a.AccountID, a.AccountID == account.SystemID, now)
			a.QueuePosition, a.EstimatedStartS = new(position), start
		}
	}
	return list, nil
}

// forecast returns the forecast for an analysis, and the current time. A reader without an
// Estimator knows the order alone.
func (r *Reader) forecast(ctx context.Context, id string) (f queue.Forecast, now time.Time, err error) {
	if r.Estimator != nil {
		f, err = r.Estimator.forecast(ctx, id)
		return f, r.Estimator.Now(), err
	}
	turns, err := Turns(ctx, r.pool)
	if err != nil {
		return f, now, err
	}
	open, err := unfinished(ctx, r.pool, nil, map[string]facts{})
	return queue.NewForecast(open.tasks, turns, now), now, err
}

// RoomIn returns the number of seconds until the work on the given number of queued
// analyses (at least 1) has started. known is false when the speed of the service is not
// known.
func (r *Reader) RoomIn(ctx context.Context, places int) (seconds int, known bool) {
	if r.Estimator == nil {
		return 0, false
	}
	f, err := r.Estimator.forecast(ctx, "")
	if err != nil { // the request is refused in any case, without a time
		if ctx.Err() == nil {
			r.Estimator.Log.WarnContext(ctx, "cannot estimate the queue", "error", err)
		}
		return 0, false
	}
	left := f.RoomIn(places, r.Estimator.Now())
	if left == nil {
		return 0, false
	}
	return *left, true
}
