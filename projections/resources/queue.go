package resources

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"vqa/domain/account"
	"vqa/domain/analysis"
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

// withPositions adds the queue position and the estimate to each queued analysis. One queue
// serves all accounts, oldest first. Analyses of the system account come after all others.
func (r *Reader) withPositions(ctx context.Context, states []analysis.State) ([]Analysis, error) {
	list := make([]Analysis, len(states))
	queued := map[string]*Analysis{}
	latest := ""
	for i, s := range states {
		list[i].State = s
		if s.Status == analysis.Queued {
			queued[s.ID], latest = &list[i], max(latest, s.ID)
		}
	}
	if len(queued) == 0 {
		return list, nil
	}
	if err := r.countAhead(ctx, queued); err != nil {
		return nil, fmt.Errorf("read the queue: %w", err)
	}
	if r.Estimator == nil {
		return list, nil
	}
	f, err := r.Estimator.forecast(ctx, latest)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil { // without an estimate the analysis is still returned
		r.Estimator.Log.WarnContext(ctx, "cannot estimate the queue", "error", err)
		return list, nil
	}
	now := r.Estimator.Now()
	for id, a := range queued {
		a.EstimatedStartS = f.StartIn(id, now)
	}
	return list, nil
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

// countAhead sets the position of each analysis with one query. An analysis that has
// left the queue keeps position 1.
func (r *Reader) countAhead(ctx context.Context, queued map[string]*Analysis) error {
	ids := make([]string, 0, len(queued))
	for id, a := range queued {
		ids, a.QueuePosition = append(ids, id), new(1)
	}
	rows, err := r.pool.Query(ctx, `
		select id, position from (
			select id, row_number() over (order by account_id = $2, created_at, id) as position
			from analyses where status = 'queued') queue
		where id = any($1)`, ids, account.SystemID)
	if err != nil {
		return err
	}
	var id string
	var position int
	_, err = pgx.ForEachRow(rows, []any{&id, &position}, func() error {
		queued[id].QueuePosition = new(position)
		return nil
	})
	return err
}
