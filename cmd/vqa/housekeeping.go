package main

import (
	"context"
	"fmt"
	"time"

	"vqa/handlers/httpapi"
	"vqa/projections"
	"vqa/projections/resources"
)

// objectSweepAge is the age at which an upload that was never completed is removed: the upload
// window, the life of a signed URL, and one more hour.
const objectSweepAge = 26 * time.Hour

// housekeepingEvery is the interval of the housekeeping.
const housekeepingEvery = time.Hour

// sweepRows is the number of rows that one statement deletes.
const sweepRows = 1000

// keepHouse deletes data that is out of use: uploads that were never completed, expired receipts of
// idempotent requests, expired locks, rate windows without requests, the progress of ended analyses, old
// replays and certificates, and deliveries of webhooks after 35 days.
func (s *server) keepHouse(ctx context.Context) {
	if n, err := s.objects.Sweep(ctx, s.oldest().Add(-objectSweepAge)); err != nil && ctx.Err() == nil {
		s.log.Error("could not remove abandoned uploads", "error", err)
	} else if n > 0 {
		s.log.Info("removed abandoned uploads", "count", n)
	}
	s.sweep(ctx, "expired receipts", s.store.DeleteExpiredReceipts)
	s.sweep(ctx, "expired idempotency locks", s.locks.DeleteExpired)
	s.sweep(ctx, "idle rate windows", s.windows.DeleteIdle)
	s.sweep(ctx, "the progress of ended analyses", func(ctx context.Context, _ time.Time, limit int) (int64, error) {
		return resources.NewProgress(s.pool).DeleteEnded(ctx, limit)
	})
	s.sweep(ctx, "old replays", func(ctx context.Context, _ time.Time, limit int) (int64, error) {
		return s.feed.DeleteOldReplays(ctx, limit)
	})
	s.sweep(ctx, "old certificates", func(ctx context.Context, _ time.Time, limit int) (int64, error) {
		return projections.DeleteOldCertificates(ctx, s.pool, limit)
	})
	s.sweep(ctx, "idle targets of webhooks", s.deliveries.DeleteIdle)
	if dropped, err := s.deliveries.KeepPartitions(ctx, s.clock.Now()); err != nil && ctx.Err() == nil {
		s.log.Error("could not keep the partitions of deliveries", "error", err)
	} else if dropped > 0 {
		s.log.Info("removed old deliveries", "tables", dropped)
	}
}

// every calls do with each interval until ctx ends.
func every(ctx context.Context, interval time.Duration, do func(context.Context)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			do(ctx)
		}
	}
}

// oldest returns the earlier one of the database's time and the machine's. Files in a folder carry the
// time of the machine. Judged by the earlier clock, a wrong clock keeps a file for too long, and no
// file is removed while it is written.
func (s *server) oldest() time.Time {
	now, machine := s.clock.Now(), machineTime()
	if machine.Before(now) {
		return machine
	}
	return now
}

// sweep deletes rows in portions until none are left.
func (s *server) sweep(ctx context.Context, what string, remove func(ctx context.Context, now time.Time, limit int) (int64, error)) {
	for n := int64(sweepRows); n == sweepRows && ctx.Err() == nil; {
		var err error
		if n, err = remove(ctx, s.clock.Now(), sweepRows); err != nil && ctx.Err() == nil {
			s.log.Error("could not remove "+what, "error", err)
		}
	}
}

// checkRoom returns an error when the disk of the object store is nearly full.
func (s *server) checkRoom(context.Context) error {
	if _, _, err := s.objects.Free(); err != nil {
		return fmt.Errorf("%w: %w", httpapi.ErrUnchecked, err)
	}
	return s.objects.Room(0)
}
