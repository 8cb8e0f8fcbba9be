package deliveries

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"vqa/domain/fault"
	"vqa/domain/webhook"
	"vqa/projections"
)

// Visible is how long a delivery can be read (docs/contract.md#webhook-deliveries).
const Visible = 30 * 24 * time.Hour

// Status is the state of a delivery, as the API shows it.
type Status string

// The states (docs/contract.md#webhook-deliveries).
const (
	Pending    Status = "pending"
	Delivering Status = "delivering"
	Delivered  Status = "delivered"
	Failed     Status = "failed"
	Dead       Status = "dead"
)

// Delivery is a delivery to an endpoint.
type Delivery struct {
	webhook.DeliveryKey
	EventType  string              `json:"event_type"`
	ResourceID string              `json:"resource_id"`
	Status     Status              `json:"status"`
	DeadReason webhook.DeathReason `json:"dead_reason"`
	// AttemptCount is the number of attempts that have ended.
	AttemptCount       int     `json:"attempt_count"`
	LastResponseStatus *int    `json:"last_response_status"`
	LastError          *string `json:"last_error"`
	// NextAttemptAt is nil once the delivery is delivered or dead.
	NextAttemptAt *time.Time `json:"next_attempt_at"`
	LastAttemptAt *time.Time `json:"last_attempt_at"`
	DeliveredAt   *time.Time `json:"delivered_at"`
	CreatedAt     time.Time  `json:"created_at"`
}

// Redeliverable reports whether the delivery may be requeued. The body of one whose resource was deleted is gone.
func (d Delivery) Redeliverable() bool {
	return (d.Status == Failed || d.Status == Dead) && d.DeadReason != webhook.ResourceDeleted
}

// visible is a table of deliveries with their state in the queue.
const visible = `(
	select s.*, json_build_object(
		'delivery_id', s.id, 'account_id', s.account_id, 'event_id', s.event_id, 'target', s.target, 'event_type', s.event_type,
		'resource_id', s.resource_id, 'status', s.state, 'dead_reason', s.dead_reason, 'attempt_count', s.attempt_count,
		'last_response_status', s.last_response_status, 'last_error', s.last_error, 'next_attempt_at', s.due,
		'last_attempt_at', s.last_attempt_at, 'delivered_at', s.delivered_at, 'created_at', s.created_at) as doc
	  from (select d.*, q.due, case when q.claimed_by is null then d.status else 'delivering' end as state
	          from webhook_deliveries d
	          left join webhook_queue q on q.event_id = d.event_id and q.target = d.target) s) deliveries`

// Filter narrows a list. Empty fields match everything.
type Filter struct {
	Status    Status
	EventType string
	// Redeliverable leaves only those that may be requeued and are not due already, DeadReason those that ended for it.
	Redeliverable bool
	DeadReason    webhook.DeathReason
}

// Deliveries lists the deliveries to an endpoint that are visible at now, newest event first, and whether
// there are more. Error: resource_not_found for an unknown cursor.
func (s *Store) Deliveries(ctx context.Context, e webhook.Endpoint, f Filter, p projections.Page, now time.Time) ([]Delivery, bool, error) {
	q := projections.List(visible, e.AccountID).OrderedBy("event_id").
		Within("target = ?", e.ID).Where("event_id >= webhook_event_bound(?)", now.Add(-Visible))
	if f.Status != "" {
		q = q.Where("state = ?", f.Status)
	}
	if f.EventType != "" {
		q = q.Where("event_type = ?", f.EventType)
	}
	if f.Redeliverable {
		q = q.Where("state in ('failed', 'dead')").Where("coalesce(dead_reason, '') <> ?", webhook.ResourceDeleted).
			Where("(state = 'dead' or due > ?)", now)
	}
	if f.DeadReason != "" {
		q = q.Where("dead_reason = ?", f.DeadReason)
	}
	return projections.Rows[Delivery](ctx, s.pool, q, p)
}

// Delivery returns a delivery to an endpoint, or resource_not_found.
func (s *Store) Delivery(ctx context.Context, e webhook.Endpoint, deliveryID string, now time.Time) (Delivery, error) {
	list, _, err := projections.Rows[Delivery](ctx, s.pool, projections.List(visible, e.AccountID).
		Where("target = ?", e.ID).Where("id = ?", deliveryID).Where("event_id >= webhook_event_bound(?)", now.Add(-Visible)),
		projections.Page{Limit: 1})
	if err != nil {
		return Delivery{}, fmt.Errorf("read delivery %s: %w", deliveryID, err)
	}
	if len(list) == 0 {
		return Delivery{}, fault.NotFound("delivery_id", deliveryID)
	}
	return list[0], nil
}

// Attempt is one attempt of a delivery.
type Attempt struct {
	// Number counts from 1.
	Number    int
	StartedAt time.Time
	// DurationUS is in microseconds. It is nil for an attempt that was interrupted.
	DurationUS *int64
	// Status is that of the response, Error says why the attempt failed, and Snippet is the beginning of the
	// response.
	Status         *int
	Error, Snippet *string
}

// maxAttempts bounds the list of attempts. Redelivery has no bound.
const maxAttempts = 100

// Attempts returns the last 100 attempts of a delivery, newest first, and whether there are older ones.
func (s *Store) Attempts(ctx context.Context, d Delivery) ([]Attempt, bool, error) {
	rows, err := s.pool.Query(ctx, `select n, started_at, duration_us, status, error, snippet from webhook_attempts
		where event_id = $1 and delivery_id = $2 order by n desc limit $3`, d.EventID, d.DeliveryID, maxAttempts+1)
	if err != nil {
		return nil, false, fmt.Errorf("read the attempts of %s: %w", d.DeliveryID, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Attempt])
	if err != nil {
		return nil, false, fmt.Errorf("read the attempts of %s: %w", d.DeliveryID, err)
	}
	more := len(list) > maxAttempts
	return list[:min(len(list), maxAttempts)], more, nil
}

const (
	// lockSQL takes the locks in the order of all other statements: the queue first.
	lockSQL    = "select from webhook_queue where event_id = $1 and target = $2 for update"
	requeueSQL = `
with d as (
	update webhook_deliveries set status = 'pending', dead_reason = null
	 where event_id = $1 and target = $2 and status in ('failed', 'dead')
	returning event_id, target, id, account_id, attempt_count
)
insert into webhook_queue (event_id, target, delivery_id, account_id, due, attempt)
select event_id, target, id, account_id, $3, attempt_count + 1 from d
    on conflict (event_id, target) do update set due = least(webhook_queue.due, excluded.due), step = 0
 where webhook_queue.claimed_by is null`
)

const missedSQL = `
select exists (select from webhook_deliveries where event_id = $1 and target = $2 and status in ('failed', 'dead')
	and (last_attempt_at is null or last_attempt_at < $3))`

// Missed reports whether a delivery that was requeued at a time may still wait for Requeue. It is false when the
// delivery is queued, or was attempted since.
func (s *Store) Missed(ctx context.Context, k webhook.DeliveryKey, requeued time.Time) (missed bool, err error) {
	err = s.short(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, missedSQL, k.EventID, k.Target, requeued).Scan(&missed)
	})
	if err != nil {
		return false, fmt.Errorf("look for %s: %w", k.DeliveryID, err)
	}
	return missed, nil
}

// Requeue makes failed and dead deliveries due at now, at the first step of the schedule. It leaves others
// as they are, so it may be repeated.
func (s *Store) Requeue(ctx context.Context, now time.Time, keys ...webhook.DeliveryKey) error {
	err := s.short(ctx, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		for _, k := range keys {
			batch.Queue(lockSQL, k.EventID, k.Target)
			batch.Queue(requeueSQL, k.EventID, k.Target, now)
		}
		return tx.SendBatch(ctx, batch).Close()
	})
	if err != nil {
		return fmt.Errorf("requeue %d deliveries: %w", len(keys), err)
	}
	targets := make([]string, len(keys))
	for i, k := range keys {
		targets[i] = k.Target
	}
	return s.refreshTargets(ctx, targets)
}
