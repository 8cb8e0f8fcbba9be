package deliveries

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"vqa/domain/webhook"
)

// Result is the result of a claimed delivery. Exactly one of Delivered, DeadReason and RetryAt is
// set.
type Result struct {
	EventID    string `json:"event_id"`
	Target     string `json:"target"`
	DeliveryID string `json:"delivery_id"`
	// Attempt is the number of the attempt, from 1.
	Attempt int `json:"attempt"`
	// Sent is false when the delivery ended without an attempt.
	Sent      bool      `json:"sent"`
	StartedAt time.Time `json:"started_at"`
	// DurationUS is the duration in microseconds.
	DurationUS int64 `json:"duration_us"`
	// Status is that of the response. It is nil without one.
	Status *int `json:"status"`
	// Error says in words why the attempt failed. Snippet is the beginning of the response.
	Error   *string `json:"error"`
	Snippet *string `json:"snippet"`

	Delivered  bool       `json:"delivered"`
	DeadReason *string    `json:"dead_reason"`
	RetryAt    *time.Time `json:"retry_at"`
}

// recordSQL accepts results only while the incarnation holds the claim.
const recordSQL = `
with r as (
	select * from json_to_recordset($1::json) as r(event_id text, target text, delivery_id text, attempt integer, sent boolean,
		started_at timestamptz, duration_us bigint, status integer, error text, snippet text, delivered boolean, dead_reason text, retry_at timestamptz)
), ended as (
	delete from webhook_queue q using r
	 where q.event_id = r.event_id collate "C" and q.target = r.target collate "C" and q.claimed_by = $2 and r.retry_at is null
	returning r.*
), waiting as (
	update webhook_queue q
	   set claimed_by = null, claimed_at = null, due = r.retry_at, attempt = q.attempt + 1, step = q.step + 1
	  from r
	 where q.event_id = r.event_id collate "C" and q.target = r.target collate "C" and q.claimed_by = $2 and r.retry_at is not null
	returning r.*
), accepted as (
	select * from ended union all select * from waiting
), tried as (
	insert into webhook_attempts (event_id, delivery_id, n, started_at, duration_us, status, error, snippet, node)
	select a.event_id, a.delivery_id, a.attempt, a.started_at, a.duration_us, a.status, a.error, a.snippet, $2
	  from accepted a
	  join webhook_deliveries d on d.event_id = a.event_id collate "C" and d.target = a.target collate "C"
	 where a.sent
	    on conflict do nothing
), updated as (
	update webhook_deliveries d
	   set status = case when a.delivered then 'delivered' when a.dead_reason is not null then 'dead' else 'failed' end,
	       dead_reason = a.dead_reason,
	       delivered_at = case when a.delivered then a.started_at + a.duration_us * interval '1 microsecond' end,
	       attempt_count = d.attempt_count + a.sent::integer,
	       last_attempt_at = case when a.sent then a.started_at else d.last_attempt_at end,
	       last_response_status = case when a.sent then a.status else d.last_response_status end,
	       last_error = case when a.sent then a.error else d.last_error end
	  from accepted a
	 where d.event_id = a.event_id collate "C" and d.target = a.target collate "C"
)
select count(*) from accepted`

// Record records results of an incarnation and ends its claims. It returns the number of accepted
// results. The others belong to claims that were taken away. Call Refresh afterwards with the turns
// of all targets.
func (s *Store) Record(ctx context.Context, incarnation string, results []Result) (accepted int, err error) {
	doc, err := json.Marshal(results)
	if err == nil {
		err = s.short(ctx, func(tx pgx.Tx) error {
			return tx.QueryRow(ctx, recordSQL, doc, incarnation).Scan(&accepted)
		})
	}
	if err != nil {
		return 0, fmt.Errorf("record %d results of deliveries: %w", len(results), err)
	}
	return accepted, nil
}

// Turn is what results change about a target.
type Turn struct {
	Target string `json:"target"`
	// Failures counts the failed attempts since the last success among the results.
	Failures  int        `json:"failures"`
	FirstFail *time.Time `json:"first_fail"`
	LastFail  *time.Time `json:"last_fail"`
	// Success is the time of the last success among the results, or nil.
	Success *time.Time `json:"success"`
}

// Turns summarizes results by target.
func Turns(results []Result) []Turn {
	byTarget := map[string]Turn{}
	for _, r := range results {
		t := byTarget[r.Target]
		t.Target = r.Target
		switch {
		case r.Delivered:
			t = Turn{Target: r.Target, Success: &r.StartedAt}
		case r.Sent:
			t.Failures++
			if t.FirstFail == nil {
				t.FirstFail = &r.StartedAt
			}
			t.LastFail = &r.StartedAt
		}
		byTarget[r.Target] = t
	}
	return sorted(byTarget)
}

func sorted(byTarget map[string]Turn) []Turn {
	out := make([]Turn, 0, len(byTarget))
	for _, t := range byTarget {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b Turn) int { return strings.Compare(a.Target, b.Target) })
	return out
}

// Merge adds later turns to earlier ones.
func Merge(earlier, later []Turn) []Turn {
	byTarget := make(map[string]Turn, len(earlier)+len(later))
	for _, t := range earlier {
		byTarget[t.Target] = t
	}
	for _, t := range later {
		if before, ok := byTarget[t.Target]; ok && t.Success == nil {
			t.Success = before.Success
			t.Failures += before.Failures
			if before.FirstFail != nil {
				t.FirstFail = before.FirstFail
			}
			if t.LastFail == nil {
				t.LastFail = before.LastFail
			}
		}
		byTarget[t.Target] = t
	}
	return sorted(byTarget)
}

const (
	lockTurnsSQL = `
select target, failures, first_failure_at, last_failure_at, warned, last_success_at
  from webhook_turns where target = any($1) order by target for update skip locked`
	refreshSQL = `
update webhook_turns t
   set failures = r.failures, first_failure_at = r.first_failure_at, last_failure_at = r.last_failure_at, warned = coalesce(r.warned, false),
       last_success_at = r.last_success_at, next_due = ` + nextDueSQL + `
  from json_to_recordset($1::json) as r(target text, failures integer, first_failure_at timestamptz, last_failure_at timestamptz,
       warned boolean, last_success_at timestamptz)
 where t.target = r.target collate "C" and t.target = any($2)`
)

// record is what webhook_turns has about the attempts to a target.
type record struct {
	Target   string `json:"target"`
	Failures int    `json:"failures"`
	webhook.Health
	LastSuccessAt *time.Time `json:"last_success_at"`
}

// after returns the record after the results of a turn.
func (r record) after(t Turn) record {
	if t.Success != nil {
		r.Failures, r.Health, r.LastSuccessAt = 0, webhook.Health{}, t.Success
	}
	if t.FirstFail != nil {
		r.Failures += t.Failures
		r.Health = r.Failed(*t.FirstFail).Failed(*t.LastFail)
	}
	return r
}

// Refresh keeps the invariant of the turns after results were recorded, and counts failures. It
// skips turns that another transaction has locked and returns them. The caller tries them again. The turns are
// ordered by target.
func (s *Store) Refresh(ctx context.Context, turns []Turn) (skipped []Turn, err error) {
	if len(turns) == 0 {
		return nil, nil
	}
	targets := make([]string, len(turns))
	for i, t := range turns {
		targets[i] = t.Target
	}
	err = s.short(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, lockTurnsSQL, targets)
		if err != nil {
			return err
		}
		locked, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r record, err error) {
			err = row.Scan(&r.Target, &r.Failures, &r.FirstFailureAt, &r.LastFailureAt, &r.Warned, &r.LastSuccessAt)
			return r, err
		})
		if err != nil {
			return err
		}
		held := make([]string, 0, len(locked))
		for i, r := range locked {
			turn, _ := slices.BinarySearchFunc(turns, r.Target, func(t Turn, target string) int { return strings.Compare(t.Target, target) })
			locked[i] = r.after(turns[turn])
			held = append(held, r.Target)
		}
		for _, t := range turns {
			if _, ok := slices.BinarySearch(held, t.Target); !ok {
				skipped = append(skipped, t)
			}
		}
		doc, err := json.Marshal(locked)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, refreshSQL, doc, held, PerTarget)
		return err
	})
	if err != nil {
		return turns, fmt.Errorf("refresh turns: %w", err)
	}
	return skipped, nil
}
