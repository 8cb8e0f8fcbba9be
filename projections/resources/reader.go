package resources

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"vqa/domain/analysis"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/video"
	"vqa/eventstore/fold"
	"vqa/projections"
)

// Reader reads the tables of this package.
type Reader struct {
	// Estimator forecasts when queued work starts. It may be nil.
	Estimator *Estimator

	pool *pgxpool.Pool
}

// NewReader returns a reader on a pool.
func NewReader(pool *pgxpool.Pool) *Reader { return &Reader{pool: pool} }

// Tenant is the owner of the rows to read: an account in live or test mode.
type Tenant struct {
	AccountID string
	Livemode  bool
	// VideoID limits the reads to one video and its analyses. It is empty for no limit.
	VideoID string
	// TokenID limits the reads to what a client token created. It is empty for no limit.
	TokenID string
}

// clockSkew is more than the difference between the clocks of two nodes.
const clockSkew = time.Minute

// list starts a list of the tenant's rows of a category, which has them in a table.
func (t Tenant) list(table string, of fold.Aggregate) projections.Query {
	q := projections.List(table, t.AccountID).Within("livemode = ?", t.Livemode)
	if t.TokenID == "" {
		return q
	}
	// A token lives for minutes, so this reads few of the rows of a large account.
	minted, _ := id.Time(t.TokenID)
	return q.Within("created_at >= ?", minted.Add(-clockSkew)).Within(createdBy(of, "?"), t.TokenID)
}

// createdBy is the condition that an actor created a row of a category: it made the first event of its stream.
func createdBy(of fold.Aggregate, actor string) string {
	return "exists (select from events e where e.stream = '" + of.Category() + "/' || id and e.version = 1 and e.meta->>'actor' = " + actor + ")"
}

// Video returns a video of the tenant, or resource_not_found.
func (r *Reader) Video(ctx context.Context, t Tenant, id string) (video.State, error) {
	v, err := one[video.State](ctx, r.pool,
		"select doc from videos where id = $1 and account_id = $2 and livemode = $3 and status <> 'removed' and $4 in ('', id) and ($5 = '' or "+createdBy(fold.Video, "$5")+")",
		id, t.AccountID, t.Livemode, t.VideoID, t.TokenID)
	return v, notFound(err, id)
}

// Videos lists the tenant's videos, newest first, and whether there are more. An empty
// status matches all.
func (r *Reader) Videos(ctx context.Context, t Tenant, status video.Status, p projections.Page) ([]video.State, bool, error) {
	q := t.list("videos", fold.Video).Where("status <> 'removed'")
	if t.VideoID != "" {
		q = q.Where("id = ?", t.VideoID)
		if cursor := p.StartingAfter + p.EndingBefore; cursor != "" && cursor != t.VideoID {
			return nil, false, p.UnknownCursor()
		}
	}
	if status != "" {
		q = q.Where("status = ?", string(status))
	}
	return projections.Rows[video.State](ctx, r.pool, q, p)
}

// Analysis returns an analysis of the tenant, or resource_not_found. Like the lists, it
// leaves out artifacts whose video was deleted.
func (r *Reader) Analysis(ctx context.Context, t Tenant, id string) (Analysis, error) {
	var doc []byte
	var removed bool
	var percent int
	err := r.pool.QueryRow(ctx, `
		select doc, exists (select from videos v where v.id = a.video_id and v.status = 'removed'),
			coalesce((select percent from analysis_progress p where p.analysis_id = a.id), 0)
		from analyses a where id = $1 and account_id = $2 and livemode = $3 and $4 in ('', video_id) and ($5 = '' or `+createdBy(fold.Analysis, "$5")+`)`,
		id, t.AccountID, t.Livemode, t.VideoID, t.TokenID).Scan(&doc, &removed, &percent)
	if err != nil {
		return Analysis{}, notFound(err, id)
	}
	var a analysis.State
	if err := json.Unmarshal(doc, &a); err != nil {
		return Analysis{}, err
	}
	if removed {
		a.Artifacts = nil
	}
	if !a.Status.Terminal() {
		a.Percent = max(a.Percent, percent)
	}
	list, err := r.withPositions(ctx, []analysis.State{a})
	if err != nil {
		return Analysis{}, err
	}
	return list[0], nil
}

// AnalysisFilter narrows a list of analyses. An empty field matches everything.
type AnalysisFilter struct {
	VideoID string
	Model   string
	Status  analysis.Status
}

// Analyses lists the tenant's analyses, newest first, and whether there are more.
func (r *Reader) Analyses(ctx context.Context, t Tenant, f AnalysisFilter, p projections.Page) ([]Analysis, bool, error) {
	q := t.list("analyses", fold.Analysis)
	if t.VideoID != "" {
		q = q.Where("video_id = ?", t.VideoID)
		// The answer for a cursor outside the video must not reveal whether it exists.
		if cursor := p.StartingAfter + p.EndingBefore; cursor != "" {
			if _, err := r.Analysis(ctx, t, cursor); err != nil {
				return nil, false, err
			}
		}
	}
	if f.VideoID != "" {
		q = q.Where("video_id = ?", f.VideoID)
	}
	if f.Model != "" {
		q = q.Where("model = ?", f.Model)
	}
	if f.Status != "" {
		q = q.Where("status = ?", string(f.Status))
	}
	states, more, err := projections.Rows[analysis.State](ctx, r.pool, q, p)
	if err == nil {
		err = r.withoutRemoved(ctx, states)
	}
	if err == nil {
		err = r.withProgress(ctx, states)
	}
	if err != nil {
		return nil, false, err
	}
	list, err := r.withPositions(ctx, states)
	return list, more, err
}

// one reads the document of a single row.
func one[R any](ctx context.Context, pool *pgxpool.Pool, sql string, args ...any) (R, error) {
	var row R
	var doc []byte
	if err := pool.QueryRow(ctx, sql, args...).Scan(&doc); err != nil {
		return row, err
	}
	return row, json.Unmarshal(doc, &row)
}

func notFound(err error, id string) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.NotFound("id", id)
	}
	return err
}
