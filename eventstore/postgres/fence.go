package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Fence waits for every open append to end and holds new ones back until tx ends.
// Readers go on. The role of tx must own the log.
func (s *Store) Fence(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, "lock table events in share mode")
	return err
}

// Head is the position of the last event recorded so far, 0 for none.
func (s *Store) Head(ctx context.Context) (int64, error) {
	var head int64
	err := s.pool.QueryRow(ctx, "select coalesce(max(position), 0) from events").Scan(&head)
	return head, err
}
