package deliveries

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Store reads and writes the tables. It is safe for concurrent use.
type Store struct{ pool *pgxpool.Pool }

// New returns a store in the pool's database.
func New(pool *pgxpool.Pool) *Store { return &Store{pool} }

// byIndex makes the planner use the indexes in the current transaction. The tables are often empty
// when the first statement is planned, and the connection keeps the plan while they grow. A plan that
// cannot do without a disabled method has a huge cost, which would make the server compile it. That
// took 400 ms for each claim, and a claim of 200 from a materialized queue of 6,000 took 90 ms instead
// of 8.
const byIndex = `select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
	set_config('enable_mergejoin', 'off', true), set_config('enable_material', 'off', true), set_config('jit', 'off', true)`

// short runs queries in one transaction that uses indexes.
func (s *Store) short(ctx context.Context, run func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, byIndex); err != nil {
			return err
		}
		return run(tx)
	})
}

// Event is a public event that is delivered.
type Event struct {
	ID        string
	Type      string
	AccountID string
	Livemode  bool
	// ResourceID is the video or the analysis. Its deletion removes the body.
	ResourceID string
	// Position is the position in the log, or 0 for a test delivery.
	Position int64
	At       time.Time
	// Body has the bytes that are sent.
	Body []byte
}

// Target is one target of an event.
type Target struct {
	// Key is the id of an endpoint, or names a host of an account.
	Key string
	// DeliveryID is the id of the delivery.
	DeliveryID string
	// URL is the address, or empty for an endpoint.
	URL string
}

const planSQL = `
with target as (
	select * from unnest($9::text[], $10::text[], $11::text[]) as t(target, id, url)
), added as (
	insert into webhook_deliveries (event_id, target, id, account_id, livemode, event_type, resource_id, position, url, status, created_at)
	select $1, target, id, $2, $3, $4, $5, $6, nullif(url, ''), 'pending', $7
	  from target
	    on conflict do nothing
	returning target, id
), body as (
	insert into webhook_bodies (event_id, account_id, resource_id, body)
	select $1, $2, $5, $8 where exists (select from added)
	    on conflict do nothing
), queued as (
	insert into webhook_queue (event_id, target, delivery_id, account_id, due)
	select $1, target, id, $2, $7 from added
), turns as (
	insert into webhook_turns (target, account_id, next_due)
	select target, $2, $7 from added order by target
	    on conflict (target) do update set next_due = least(webhook_turns.next_due, excluded.next_due)
)
select count(*) from added`

// noPartition is the SQLSTATE of a row that no partition takes.
const noPartition = "23514"

// Plan adds the body of an event and a delivery for each target, due at now. It returns the number
// of added deliveries. Pairs that exist stay as they are.
func (s *Store) Plan(ctx context.Context, e Event, targets []Target, now time.Time) (added int, err error) {
	keys, ids, urls := make([]string, len(targets)), make([]string, len(targets)), make([]string, len(targets))
	for i, t := range targets {
		keys[i], ids[i], urls[i] = t.Key, t.DeliveryID, t.URL
	}
	plan := func() error {
		return s.pool.QueryRow(ctx, planSQL, e.ID, e.AccountID, e.Livemode, e.Type, e.ResourceID, e.Position, now, e.Body,
			keys, ids, urls).Scan(&added)
	}
	err = plan()
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == noPartition {
		if err = s.makePartitions(ctx, e.At); err == nil {
			err = plan()
		}
	}
	if err != nil {
		return 0, fmt.Errorf("plan the deliveries of %s: %w", e.ID, err)
	}
	return added, nil
}

// Retention is how long bodies, deliveries and attempts are kept: the 30 days of
// docs/contract.md#webhook-deliveries, and the time of the last attempts.
const Retention = 35 * 24 * time.Hour

// ahead is how early partitions are made.
const ahead = 4

func (s *Store) makePartitions(ctx context.Context, at time.Time) error {
	_, err := s.pool.Exec(ctx, "select webhook_make_partitions($1)", at)
	return err
}

// KeepPartitions makes the partitions of the next weeks and drops those that are older than
// Retention. It returns the number of dropped tables. Every node may call it.
func (s *Store) KeepPartitions(ctx context.Context, now time.Time) (dropped int, err error) {
	for week := range ahead + 1 {
		if err := s.makePartitions(ctx, now.AddDate(0, 0, 7*week)); err != nil {
			return 0, fmt.Errorf("make the partitions of deliveries: %w", err)
		}
	}
	if err := s.pool.QueryRow(ctx, "select webhook_drop_partitions($1)", now.Add(-Retention)).Scan(&dropped); err != nil {
		return 0, fmt.Errorf("drop old partitions of deliveries: %w", err)
	}
	return dropped, nil
}
