package history

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"vqa/eventstore/fold"
	"vqa/eventstore/postgres"
)

// outcomeStreams returns the streams of the deliveries of events to webhooks. No payload names them.
// Deliveries are kept for 35 days.
func (r *Reader) outcomeStreams(ctx context.Context, events []postgres.Stored) ([]string, error) {
	positions := make([]int64, len(events))
	for i, e := range events {
		positions[i] = e.Position
	}
	rows, err := r.pool.Query(ctx, "select id from webhook_deliveries where position = any($1) order by id limit $2", positions, maxFound)
	if err != nil {
		return nil, fmt.Errorf("find deliveries: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("find deliveries: %w", err)
	}
	streams := make([]string, len(ids))
	for i, id := range ids {
		streams[i] = fold.Delivery.Stream(id).String()
	}
	return streams, nil
}
