package resources

import (
	"context"
	"errors"
	"fmt"
	"time"

	"vqa/domain/analysis"
	"vqa/domain/fault"
)

// AnalysesSince counts the live analyses that an account created at or after a time.
func (r *Reader) AnalysesSince(ctx context.Context, accountID string, since time.Time) (int64, error) {
	var n int64
	err := r.pool.QueryRow(ctx,
		"select count(*) from analyses where account_id = $1 and livemode and created_at >= $2", accountID, since).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count analyses: %w", err)
	}
	return n, nil
}

// HeldBytes returns the bytes that the videos of an account use or may use, in both modes, and those of its recordings.
// A recording is stored as two files. One that failed or was deleted does not count: its objects are removed.
// unsized is the number of videos whose size is not known yet.
func (r *Reader) HeldBytes(ctx context.Context, accountID string) (bytes, unsized int64, err error) {
	err = r.pool.QueryRow(ctx, `
		select coalesce(sum(held_bytes), 0) + (
			select coalesce(sum(2 * coalesce((doc -> 'recorded' ->> 'size_bytes')::bigint, 0)), 0) from live_streams
			where account_id = $1 and doc ->> 'recording_status' in ('recording', 'available')),
			count(*) filter (where unsized) from videos
		where account_id = $1 and (held_bytes > 0 or unsized)`, accountID).Scan(&bytes, &unsized)
	if err != nil {
		return 0, 0, fmt.Errorf("add up stored bytes: %w", err)
	}
	return bytes, unsized, nil
}

// Batch returns the analyses of a tenant's batch in the order of its prompts, or
// resource_not_found.
func (r *Reader) Batch(ctx context.Context, t Tenant, batchID string) ([]Analysis, error) {
	rows, err := r.pool.Query(ctx, `
		select doc from analyses where batch_id = $1 and account_id = $2 and livemode = $3 and $4 in ('', video_id)
		order by coalesce((doc->>'batch_index')::int, 0)`, batchID, t.AccountID, t.Livemode, t.VideoID)
	states, err := documents[analysis.State](rows, err)
	if err != nil {
		return nil, err
	}
	if len(states) == 0 {
		return nil, fault.NotFound("id", batchID)
	}
	if err := errors.Join(r.withoutRemoved(ctx, states), r.withProgress(ctx, states)); err != nil {
		return nil, err
	}
	return r.withPositions(ctx, states)
}
