package resources

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"vqa/domain/account"
	"vqa/domain/analysis"
)

// Analysis is an analysis with its place in the queue.
type Analysis struct {
	analysis.State
	// QueuePosition is 1 for the next to be worked on; nil when not queued.
	QueuePosition *int
	// EstimatedStartS is in how many seconds the work on it begins; nil when not queued, or
	// when nothing is known of how fast the service is.
	EstimatedStartS *int
}

// positioned tells of each analysis that is queued when its turn is. The queue is that of
// all accounts, oldest first; what the service asks itself lets everybody pass.
func (r *Reader) positioned(ctx context.Context, states []analysis.State) ([]Analysis, error) {
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
	if err := r.number(ctx, queued); err != nil {
		return nil, fmt.Errorf("counting the queue: %w", err)
	}
	if r.Estimator == nil {
		return list, nil
	}
	f, err := r.Estimator.forecast(ctx, latest)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil { // a reader who is told no estimate has the analysis all the same
		r.Estimator.Log.WarnContext(ctx, "the queue is not estimated", "error", err)
		return list, nil
	}
	now := r.Estimator.Now()
	for id, a := range queued {
		a.EstimatedStartS = f.StartIn(id, now)
	}
	return list, nil
}

// RoomIn tells in how many seconds the work on so many of the queued analyses, at least 1,
// has begun; known is false when nothing is known of how fast the service is.
func (r *Reader) RoomIn(ctx context.Context, places int) (seconds int, known bool) {
	if r.Estimator == nil {
		return 0, false
	}
	f, err := r.Estimator.forecast(ctx, "")
	if err != nil { // who is refused is refused all the same
		if ctx.Err() == nil {
			r.Estimator.Log.WarnContext(ctx, "the queue is not estimated", "error", err)
		}
		return 0, false
	}
	left := f.RoomIn(places, r.Estimator.Now())
	if left == nil {
		return 0, false
	}
	return *left, true
}

// number counts, in one pass, who is before each. One that is no longer queued was next.
func (r *Reader) number(ctx context.Context, queued map[string]*Analysis) error {
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
