package resources

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"vqa/domain/analysis"
)

// OpenAfterwork returns completed analyses whose artifacts or narrative are not finished,
// oldest first, at most 500.
func (r *Reader) OpenAfterwork(ctx context.Context) ([]analysis.State, error) {
	rows, err := r.pool.Query(ctx, "select doc from analyses where afterwork order by created_at, id limit $1", sweepLimit)
	return documents[analysis.State](rows, err)
}

// Drawing reports whether the artifacts of an analysis are still being rendered.
func (r *Reader) Drawing(ctx context.Context, analysisID string) (bool, error) {
	rows, err := r.pool.Query(ctx, "select doc from analyses where id = $1 and afterwork", analysisID)
	list, err := documents[analysis.State](rows, err)
	return len(list) == 1 && list[0].Drawing, err
}

// RemovedVideos returns which of the given videos were deleted.
func (r *Reader) RemovedVideos(ctx context.Context, ids []string) (map[string]bool, error) {
	removed := map[string]bool{}
	if len(ids) == 0 {
		return removed, nil
	}
	rows, err := r.pool.Query(ctx, "select id from videos where id = any($1) and status = 'removed'", ids)
	if err != nil {
		return nil, err
	}
	var id string
	_, err = pgx.ForEachRow(rows, []any{&id}, func() error { removed[id] = true; return nil })
	return removed, err
}

// withoutRemoved removes the artifacts of analyses whose videos were deleted. It reads all
// those videos with one query.
func (r *Reader) withoutRemoved(ctx context.Context, states []analysis.State) error {
	var ids []string
	for _, a := range states {
		if a.Artifacts != nil {
			ids = append(ids, a.VideoID)
		}
	}
	removed, err := r.RemovedVideos(ctx, ids)
	if err != nil {
		return fmt.Errorf("read removed videos: %w", err)
	}
	for i, a := range states {
		if removed[a.VideoID] {
			states[i].Artifacts = nil
		}
	}
	return nil
}
