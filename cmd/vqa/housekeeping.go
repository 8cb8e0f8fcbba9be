package main

import (
	"context"
	"time"
)

// objectSweepAge is when an upload that nobody completed is removed: the upload
// window, the life of a signed URL and an hour to spare.
const objectSweepAge = 26 * time.Hour

// housekeepingEvery is how often such uploads and expired receipts are looked for.
const housekeepingEvery = time.Hour

// sweepRows is how many rows one statement removes.
const sweepRows = 1000

// keepHouse removes what nobody can ask for any more: abandoned uploads, receipts past
// their replay window, and what the nodes told each other about requests long past.
func (s *server) keepHouse(ctx context.Context) {
	ticker := time.NewTicker(housekeepingEvery)
	defer ticker.Stop()
	for {
		if n, err := s.objects.Sweep(ctx, objectSweepAge); err != nil && ctx.Err() == nil {
			s.log.Error("removing abandoned uploads failed", "error", err)
		} else if n > 0 {
			s.log.Info("removed abandoned uploads", "count", n)
		}
		s.sweep(ctx, "expired receipts", s.store.DeleteExpiredReceipts)
		s.sweep(ctx, "expired idempotency locks", s.locks.DeleteExpired)
		s.sweep(ctx, "idle rate windows", s.windows.DeleteIdle)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// sweep removes rows in portions until none are left.
func (s *server) sweep(ctx context.Context, what string, remove func(ctx context.Context, now time.Time, limit int) (int64, error)) {
	for n := int64(sweepRows); n == sweepRows && ctx.Err() == nil; {
		var err error
		if n, err = remove(ctx, clock(), sweepRows); err != nil && ctx.Err() == nil {
			s.log.Error("removing "+what+" failed", "error", err)
		}
	}
}
