package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Poll lets a test choose the time of a poll.
func (w *WriterWatch) Poll(ctx context.Context, conn *pgx.Conn, now time.Time) error {
	return w.poll(ctx, conn, now)
}
