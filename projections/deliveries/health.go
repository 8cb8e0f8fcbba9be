package deliveries

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"vqa/domain/webhook"
)

// FailingTarget is an endpoint whose attempts all fail, and for how long.
type FailingTarget struct {
	EndpointID, AccountID string
	webhook.Health
}

// failingSQL has the rule of Health.Verdict, so that a target that is idle since its failures is not found
// again and again.
const failingSQL = `
select target, account_id, first_failure_at, last_failure_at, warned
  from webhook_turns
 where target like 'we\_%'
   and (first_failure_at <= $1::timestamptz - interval '72 hours' and last_failure_at >= first_failure_at + interval '48 hours'
        or not warned and first_failure_at <= $1::timestamptz - interval '36 hours' and last_failure_at >= first_failure_at + interval '12 hours')
 order by first_failure_at
 limit $2`

// failingLimit bounds the targets of one call.
const failingLimit = 100

// Failing returns endpoints whose health has a verdict at now, at most 100.
func (s *Store) Failing(ctx context.Context, now time.Time) ([]FailingTarget, error) {
	rows, err := s.pool.Query(ctx, failingSQL, now, failingLimit)
	if err != nil {
		return nil, fmt.Errorf("read failing webhook endpoints: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (f FailingTarget, err error) {
		err = row.Scan(&f.EndpointID, &f.AccountID, &f.FirstFailureAt, &f.LastFailureAt, &f.Warned)
		return f, err
	})
	if err != nil {
		return nil, fmt.Errorf("read failing webhook endpoints: %w", err)
	}
	return list, nil
}

// Warn notes that the owner was warned about the failures of an endpoint. It reports whether this call did.
func (s *Store) Warn(ctx context.Context, endpointID string) (bool, error) {
	tag, err := s.pool.Exec(ctx, "update webhook_turns set warned = true where target = $1 and not warned", endpointID)
	if err != nil {
		return false, fmt.Errorf("note the warning about %s: %w", endpointID, err)
	}
	return tag.RowsAffected() > 0, nil
}

// Forget clears the failures of an endpoint. It reports whether there were some.
func (s *Store) Forget(ctx context.Context, endpointID string) (bool, error) {
	tag, err := s.pool.Exec(ctx, `update webhook_turns set failures = 0, first_failure_at = null, last_failure_at = null, warned = false
		where target = $1 and failures > 0`, endpointID)
	if err != nil {
		return false, fmt.Errorf("clear the failures of %s: %w", endpointID, err)
	}
	return tag.RowsAffected() > 0, nil
}

// Times are the times of the deliveries to an endpoint.
type Times struct {
	// LastSuccessAt is the time of the last successful attempt, FailingSince that of the first of the
	// failures that followed. Both may be nil.
	LastSuccessAt, FailingSince *time.Time
}

// Times returns the times of endpoints. An endpoint without deliveries is not in the map.
func (s *Store) Times(ctx context.Context, endpointIDs ...string) (map[string]Times, error) {
	rows, err := s.pool.Query(ctx, "select target, last_success_at, first_failure_at from webhook_turns where target = any($1)", endpointIDs)
	if err != nil {
		return nil, fmt.Errorf("read the deliveries to webhook endpoints: %w", err)
	}
	times := map[string]Times{}
	var target string
	var t Times
	if _, err := pgx.ForEachRow(rows, []any{&target, &t.LastSuccessAt, &t.FailingSince}, func() error {
		times[target] = t
		t = Times{}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read the deliveries to webhook endpoints: %w", err)
	}
	return times, nil
}

// Backlog describes all targets.
type Backlog struct {
	// Oldest is how long the delivery that is due and waits the longest has been due.
	Oldest time.Duration
	// Failing counts the endpoints with failures since their last success, Disabled those that were
	// disabled because of them.
	Failing, Disabled int
}

const backlogSQL = `
select coalesce(extract(epoch from $1 - (select min(next_due) from webhook_turns where next_due <= $1)), 0)::float8,
       (select count(*) from webhook_turns where first_failure_at is not null and target like 'we\_%'),
       (select count(*) from webhook_endpoints a, json_array_elements(a.doc -> 'endpoints') e where e ->> 'disabled_reason' = 'auto_failure')`

// Backlog returns the backlog at now.
func (s *Store) Backlog(ctx context.Context, now time.Time) (b Backlog, err error) {
	var oldest float64
	if err := s.pool.QueryRow(ctx, backlogSQL, now).Scan(&oldest, &b.Failing, &b.Disabled); err != nil {
		return b, fmt.Errorf("read the backlog of webhooks: %w", err)
	}
	b.Oldest = time.Duration(oldest * float64(time.Second))
	return b, nil
}

// DeleteIdle deletes the turns of hosts that only requests named, when nothing was sent to them for longer
// than Retention. It returns the number of rows, at most limit.
func (s *Store) DeleteIdle(ctx context.Context, now time.Time, limit int) (int64, error) {
	tag, err := s.pool.Exec(ctx, `delete from webhook_turns where target in (
		select target from webhook_turns where target like 'ov\_%' and next_due = 'infinity' and last_turn < $1 limit $2 for update skip locked)
		and not exists (select from webhook_queue q where q.target = webhook_turns.target)`, now.Add(-Retention), limit)
	if err != nil {
		return 0, fmt.Errorf("delete idle targets of webhooks: %w", err)
	}
	return tag.RowsAffected(), nil
}
