package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"vqa/eventstore"
	"vqa/eventstore/postgres"
)

// Locks lets one request with an Idempotency-Key run at a time, over all nodes
// (docs/contract.md#idempotency). A lock is void when its node is gone or its time is up, so it
// does not outlive its holder for long. It prevents that equal requests do the same work at the
// same time. The receipt in the log ensures that a request is carried out once.
type Locks struct {
	pool    *pgxpool.Pool
	present *Presence
}

var _ eventstore.Locks = (*Locks)(nil)

// NewLocks returns locks in the pool's database. The node that takes them is the one of present.
func NewLocks(pool *pgxpool.Pool, present *Presence) *Locks {
	return &Locks{pool: pool, present: present}
}

// acquireSQL takes the lock of a key unless its request has been answered or is running.
const acquireSQL = `
insert into idempotency_locks as l (account_id, key, request_hash, request_id, holder, until)
select $1, $2, $3, $4, $5, $6
 where not exists (select from receipts where account_id = $1 and key = $2 and created_at > $8 and status > 0)
on conflict (account_id, key) do update
   set request_hash = excluded.request_hash, request_id = excluded.request_id, holder = excluded.holder, until = excluded.until
 where l.until <= $7 or l.holder <> '' and not exists (select from living_nodes where incarnation = l.holder)`

// Acquire implements eventstore.Locks. It makes one round trip. Each of its statements has a new
// snapshot, so it finds a receipt that was committed while it waited for the lock.
func (l *Locks) Acquire(ctx context.Context, c eventstore.Claim, now time.Time) (eventstore.Claimed, error) {
	since := now.Add(-eventstore.ReceiptWindow)
	var trip pgx.Batch
	trip.Queue(acquireSQL, c.AccountID, c.Key, c.RequestHash[:], c.RequestID, l.present.current().incarnation, c.Until, now, since)
	postgres.QueueReceipt(&trip, c.AccountID, c.Key, now)
	trip.Queue("select request_hash from idempotency_locks where account_id = $1 and key = $2", c.AccountID, c.Key)
	results := l.pool.SendBatch(ctx, &trip)
	claimed, err := acquired(results, c)
	if err = errors.Join(err, results.Close()); err != nil {
		return eventstore.Claimed{}, fmt.Errorf("claim an idempotency key: %w", err)
	}
	return claimed, nil
}

func acquired(results pgx.BatchResults, c eventstore.Claim) (eventstore.Claimed, error) {
	tag, err := results.Exec()
	if err != nil {
		return eventstore.Claimed{}, err
	}
	claimed := eventstore.Claimed{Held: tag.RowsAffected() == 1, RequestHash: c.RequestHash}
	receipt, err := postgres.ScanReceipt(results.QueryRow(), c.AccountID, c.Key)
	if err != nil {
		return eventstore.Claimed{}, err
	}
	var hash []byte
	switch err := results.QueryRow().Scan(&hash); {
	case err == nil:
		copy(claimed.RequestHash[:], hash)
	case !errors.Is(err, pgx.ErrNoRows): // no row means that the lock was released in the meantime
		return eventstore.Claimed{}, err
	}
	if receipt != nil {
		claimed.Receipt, claimed.RequestHash = receipt, receipt.RequestHash
	}
	return claimed, nil
}

// Renew implements eventstore.Locks.
func (l *Locks) Renew(ctx context.Context, c eventstore.Claim) (bool, error) {
	tag, err := l.pool.Exec(ctx, "update idempotency_locks set until = $4 where account_id = $1 and key = $2 and request_id = $3",
		c.AccountID, c.Key, c.RequestID, c.Until)
	if err != nil {
		return false, fmt.Errorf("renew the lock of an idempotency key: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// Release implements eventstore.Locks.
func (l *Locks) Release(ctx context.Context, c eventstore.Claim) error {
	_, err := l.pool.Exec(ctx, "delete from idempotency_locks where account_id = $1 and key = $2 and request_id = $3",
		c.AccountID, c.Key, c.RequestID)
	if err != nil {
		return fmt.Errorf("release an idempotency key: %w", err)
	}
	return nil
}

// DeleteExpired deletes up to limit locks that have expired at now. It returns how many it deleted.
func (l *Locks) DeleteExpired(ctx context.Context, now time.Time, limit int) (int64, error) {
	tag, err := l.pool.Exec(ctx, `delete from idempotency_locks where (account_id, key) in (
		select account_id, key from idempotency_locks where until <= $1 limit $2 for update skip locked)`, now, limit)
	if err != nil {
		return 0, fmt.Errorf("delete expired idempotency locks: %w", err)
	}
	return tag.RowsAffected(), nil
}
