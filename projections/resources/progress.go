package resources

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"vqa/domain/analysis"
)

// progressKept is how long a row of analysis_progress is kept after its last change. A reader
// may have read a running analysis just before it ended. Without the row, it would show the
// percent at which the stage began.
const progressKept = time.Minute

// Progress keeps the percent of running analyses in a table that is not part of the log.
type Progress struct{ pool *pgxpool.Pool }

// NewProgress returns the table in the pool's database.
func NewProgress(pool *pgxpool.Pool) *Progress { return &Progress{pool} }

// Report raises the percent of an analysis to percent, 0 to 100. A lower one changes nothing.
// current is false, and nothing is written, when the attempt no longer works on the analysis: it
// has ended, or a later attempt has taken it over.
func (p *Progress) Report(ctx context.Context, analysisID string, attempt, percent int) (current bool, err error) {
	tag, err := p.pool.Exec(ctx, `
		insert into analysis_progress as p (analysis_id, percent, updated_at)
		select id, $3, clock_timestamp() from analyses
		where id = $1 and status in ('preparing', 'analyzing', 'rendering') and (doc->>'attempt')::int = $2
		on conflict (analysis_id) do update
		set percent = greatest(p.percent, excluded.percent), updated_at = excluded.updated_at`,
		analysisID, attempt, percent)
	if err != nil {
		return false, fmt.Errorf("report the progress of %s: %w", analysisID, err)
	}
	return tag.RowsAffected() > 0, nil
}

// DeleteEnded deletes up to limit rows of analyses that have ended. It returns how many it
// deleted.
func (p *Progress) DeleteEnded(ctx context.Context, limit int) (int64, error) {
	tag, err := p.pool.Exec(ctx, `
		delete from analysis_progress where analysis_id in (
			select analysis_id from analysis_progress p
			where updated_at < clock_timestamp() - $1::interval and not exists (
				select from analyses a where a.id = p.analysis_id
				and a.status in ('queued', 'preparing', 'analyzing', 'rendering'))
			limit $2 for update skip locked)`, progressKept, limit)
	if err != nil {
		return 0, fmt.Errorf("delete the progress of ended analyses: %w", err)
	}
	return tag.RowsAffected(), nil
}

// withProgress raises the percent of each running analysis to the latest report.
func (r *Reader) withProgress(ctx context.Context, states []analysis.State) error {
	running := map[string]*analysis.State{}
	ids := []string{}
	for i, s := range states {
		if s.StartedAt != nil && !s.Status.Terminal() {
			running[s.ID], ids = &states[i], append(ids, s.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := r.pool.Query(ctx, "select analysis_id, percent from analysis_progress where analysis_id = any($1)", ids)
	if err != nil {
		return fmt.Errorf("read the progress: %w", err)
	}
	var id string
	var percent int
	_, err = pgx.ForEachRow(rows, []any{&id, &percent}, func() error {
		running[id].Percent = max(running[id].Percent, percent)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the progress: %w", err)
	}
	return nil
}
