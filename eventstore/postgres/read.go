package postgres

import (
	"context"
	"fmt"

	"vqa/eventstore"
)

const readSQL = "select " + columns + ` from events
 where position > $1 and position <= $2 order by position limit $3`

// Read implements eventstore.Store.
func (s *Store) Read(ctx context.Context, after int64, limit int) ([]eventstore.Recorded, error) {
	if limit <= 0 {
		return nil, fmt.Errorf("read the log: limit %d", limit)
	}
	// A settled position stays settled, so a reader that is far behind need not ask again.
	if settled := s.settled.Load(); settled-after >= int64(limit) {
		recorded, err := s.query(ctx, readSQL, after, settled, limit)
		if err != nil || len(recorded) == limit {
			return recorded, err
		}
	}
	settled, err := s.Settled(ctx)
	if err != nil {
		return nil, err
	}
	if settled <= after {
		return nil, nil
	}
	return s.query(ctx, readSQL, after, settled, limit)
}

// Settled returns the position up to which the log is final. Every event up to it is visible to any
// later statement, and no event will be added before it.
func (s *Store) Settled(ctx context.Context) (int64, error) {
	var settled int64
	if err := s.pool.QueryRow(ctx, "select events_settled()").Scan(&settled); err != nil {
		return 0, fmt.Errorf("read the log: %w", err)
	}
	for known := s.settled.Load(); settled > known; known = s.settled.Load() {
		if s.settled.CompareAndSwap(known, settled) {
			break
		}
	}
	return settled, nil
}

// Head returns the position of the last visible event, 0 when the log is empty.
func (s *Store) Head(ctx context.Context) (int64, error) {
	var head int64
	err := s.pool.QueryRow(ctx, "select coalesce(max(position), 0) from events").Scan(&head)
	return head, err
}
