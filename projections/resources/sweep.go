package resources

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/video"
)

// sweepLimit is the largest number of rows in one pass of a sweep. The next pass continues.
const sweepLimit = 500

// QueuedAnalyses counts the live analyses that wait for a worker. It leaves out those of
// the system account, which come after all others.
func (r *Reader) QueuedAnalyses(ctx context.Context) (int, error) {
	var n int
	err := r.pool.QueryRow(ctx, "select count(*) from analyses where status = 'queued' and account_id <> $1", account.SystemID).Scan(&n)
	return n, err
}

// Idle reports whether no account has an unfinished analysis, fetch or live stream. The service's own
// analyses do not count.
func (r *Reader) Idle(ctx context.Context) (idle bool, err error) {
	err = r.pool.QueryRow(ctx, `
		select not exists (select from analyses where status in ('queued', 'preparing', 'analyzing', 'rendering') and account_id <> $1)
			and not exists (select from videos where status = 'processing')
			and not exists (select from live_streams where status <> 'ended')`, account.SystemID).Scan(&idle)
	return idle, err
}

// OpenAnalyses returns analyses that have not ended, oldest first, at most 500.
func (r *Reader) OpenAnalyses(ctx context.Context) ([]analysis.State, error) {
	rows, err := r.pool.Query(ctx, `
		select doc from analyses
		where status in ('queued', 'preparing', 'analyzing', 'rendering')
		order by created_at, id limit $1`, sweepLimit)
	return documents[analysis.State](rows, err)
}

// OpenFetches returns videos that are being fetched, oldest first, at most 500.
func (r *Reader) OpenFetches(ctx context.Context) ([]video.State, error) {
	rows, err := r.pool.Query(ctx,
		"select doc from videos where status = 'processing' order by created_at, id limit $1", sweepLimit)
	return documents[video.State](rows, err)
}

// UnpurgedVideos returns deleted videos whose bytes are not gone, oldest first, at most 500.
func (r *Reader) UnpurgedVideos(ctx context.Context) ([]video.State, error) {
	rows, err := r.pool.Query(ctx, `
		select doc from videos where status = 'removed' and (doc ->> 'purged_at') is null
		order by created_at, id limit $1`, sweepLimit)
	return documents[video.State](rows, err)
}

// UnfinishedFetches counts the videos of an account that are being fetched or wait for it.
func (r *Reader) UnfinishedFetches(ctx context.Context, accountID string) (int, error) {
	var n int
	err := r.pool.QueryRow(ctx, "select count(*) from videos where status = 'processing' and account_id = $1", accountID).Scan(&n)
	return n, err
}

// VideosOf returns the given videos, including deleted ones. Unknown ids are left out.
func (r *Reader) VideosOf(ctx context.Context, ids []string) (map[string]video.State, error) {
	rows, err := r.pool.Query(ctx, "select doc from videos where id = any($1)", ids)
	list, err := documents[video.State](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read videos: %w", err)
	}
	known := make(map[string]video.State, len(list))
	for _, v := range list {
		known[v.ID] = v
	}
	return known, nil
}

// ExpiredUploads returns videos whose upload window ended before now, at most 500.
func (r *Reader) ExpiredUploads(ctx context.Context, now time.Time) ([]video.State, error) {
	rows, err := r.pool.Query(ctx,
		"select doc from videos where status = 'awaiting_upload' and expires_at <= $1 order by expires_at limit $2", now, sweepLimit)
	return documents[video.State](rows, err)
}

func documents[R any](rows pgx.Rows, err error) ([]R, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (R, error) {
		var r R
		if err := row.Scan(&r); err != nil {
			return r, fmt.Errorf("read a document: %w", err)
		}
		return r, nil
	})
}
