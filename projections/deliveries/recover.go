package deliveries

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// interrupted is the error of an attempt whose result is unknown.
const interrupted = "interrupted: the server process that made this attempt ended before it recorded a result"

// recoverLimit bounds the claims of one call.
const recoverLimit = 1000

const (
	recoverSQL = `
with lost as (
	select event_id, target, delivery_id, attempt, claimed_by, claimed_at
	  from webhook_queue q
	 where claimed_by is not null
	   and (claimed_by = $1 or $1 = '' and not exists (select from living_nodes l where l.incarnation = q.claimed_by))
	 limit $2
	   for update skip locked
), freed as (
	update webhook_queue q set claimed_by = null, claimed_at = null, attempt = q.attempt + 1
	  from lost
	 where q.event_id = lost.event_id and q.target = lost.target
), tried as (
	insert into webhook_attempts (event_id, delivery_id, n, started_at, error, node)
	select lost.event_id, lost.delivery_id, lost.attempt, lost.claimed_at, $3, lost.claimed_by
	  from lost
	  join webhook_deliveries d on d.event_id = lost.event_id and d.target = lost.target
	    on conflict do nothing
), updated as (
	update webhook_deliveries d
	   set status = 'failed', attempt_count = d.attempt_count + 1, last_attempt_at = lost.claimed_at, last_response_status = null, last_error = $3
	  from lost
	 where d.event_id = lost.event_id and d.target = lost.target
)
select target from lost`

	repairSQL = `
select t.target
  from webhook_turns t
 where t.next_due > $1
   and exists (select from webhook_queue q where q.target = t.target and q.claimed_by is null and q.due <= $1)`
)

// Recover returns the claims of incarnations whose lease is over to the queue, and repairs turns. It
// returns the number of claims.
func (s *Store) Recover(ctx context.Context, now time.Time) (claims int, err error) {
	claims, err = s.release(ctx, "")
	if err != nil {
		return claims, err
	}
	rows, err := s.pool.Query(ctx, repairSQL, now)
	if err != nil {
		return claims, fmt.Errorf("repair turns: %w", err)
	}
	targets, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return claims, fmt.Errorf("repair turns: %w", err)
	}
	return claims, s.refreshTargets(ctx, targets)
}

// Release returns all claims of an incarnation whose attempts have ended without a result.
func (s *Store) Release(ctx context.Context, incarnation string) error {
	_, err := s.release(ctx, incarnation)
	return err
}

// release returns the claims of an incarnation, or of all incarnations that are over when it is
// empty.
func (s *Store) release(ctx context.Context, incarnation string) (claims int, err error) {
	var targets []string
	err = s.short(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, recoverSQL, incarnation, recoverLimit, interrupted)
		if err != nil {
			return err
		}
		targets, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("return claims of deliveries: %w", err)
	}
	return len(targets), s.refreshTargets(ctx, targets)
}

// refreshTargets keeps the invariant of the turns of targets. It waits a little for turns that are locked.
// Recover repairs those that stay so.
func (s *Store) refreshTargets(ctx context.Context, targets []string) error {
	byTarget := map[string]Turn{}
	for _, t := range targets {
		byTarget[t] = Turn{Target: t}
	}
	skipped, err := s.Refresh(ctx, sorted(byTarget))
	for range refreshTries {
		if err != nil || len(skipped) == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(soon):
		}
		skipped, err = s.Refresh(ctx, skipped)
	}
	return err
}

// refreshTries bounds the repetitions for turns that are locked.
const refreshTries = 10

const (
	dropBodiesSQL = `
with gone as (delete from webhook_bodies where resource_id = $1 and account_id = $2 returning event_id)
update webhook_queue q set due = least(due, $3) from gone where q.event_id = gone.event_id and q.claimed_by is null
returning q.target`
	hastenSQL = "update webhook_queue set due = least(due, $2) where target = $1 and claimed_by is null returning target"
)

// DropBodies removes the bodies of a deleted resource. Its waiting deliveries become due, so that
// they end at once.
func (s *Store) DropBodies(ctx context.Context, accountID, resourceID string, now time.Time) error {
	return s.hasten(ctx, dropBodiesSQL, resourceID, accountID, now)
}

// Hasten makes all waiting deliveries of a target due, so that those of a deleted endpoint end at
// once.
func (s *Store) Hasten(ctx context.Context, target string, now time.Time) error {
	return s.hasten(ctx, hastenSQL, target, now)
}

func (s *Store) hasten(ctx context.Context, sql string, args ...any) error {
	var targets []string
	err := s.short(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		targets, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err != nil {
		return fmt.Errorf("make deliveries due: %w", err)
	}
	return s.refreshTargets(ctx, targets)
}
