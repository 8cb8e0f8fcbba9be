package deliveries

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Pair is a pair of an event and a target that has deliveries.
type Pair struct {
	EventID, Target string
	// Position is that of the event in the log.
	Position int64
	// Rows counts the deliveries. More than 1 is an error.
	Rows int
	// Stuck is true when a delivery that waits is not in the queue, or one that ended is.
	Stuck bool
}

const (
	pairColumns = `d.event_id, d.target, min(d.position), count(*), bool_or((q.event_id is null) = (d.status in ('pending', 'failed')))
  from webhook_deliveries d
  left join webhook_queue q on q.event_id = d.event_id and q.target = d.target`
	pairsSQL = "select " + pairColumns + " where d.event_id = any($1) group by d.event_id, d.target"
	// straysSQL leaves out test deliveries, whose position is 0.
	straysSQL = "select " + pairColumns + `
 where d.position > 0 and not exists (select from events e where e.position = d.position and is_public_event(e.type))
 group by d.event_id, d.target order by d.event_id limit $1`
)

// Pairs returns the pairs of events. It reads one snapshot.
func (s *Store) Pairs(ctx context.Context, eventIDs []string) ([]Pair, error) {
	return s.pairs(ctx, pairsSQL, eventIDs)
}

// maxStrays bounds the strays that are returned.
const maxStrays = 1000

// Strays returns pairs whose event is not in the log, at most 1,000.
func (s *Store) Strays(ctx context.Context) ([]Pair, error) {
	return s.pairs(ctx, straysSQL, maxStrays)
}

func (s *Store) pairs(ctx context.Context, sql string, arg any) ([]Pair, error) {
	rows, err := s.pool.Query(ctx, sql, arg)
	if err != nil {
		return nil, fmt.Errorf("read deliveries: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Pair])
	if err != nil {
		return nil, fmt.Errorf("read deliveries: %w", err)
	}
	return list, nil
}
