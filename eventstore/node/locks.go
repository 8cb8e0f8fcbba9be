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
// (api-v1.md, "Endpoints": the first request wins). A lock is void when its node is gone
// or when its time is up, so none outlives its holder for long. It keeps equal requests
// from doing the same work at once; that a request is carried out once is the promise of
// its receipt.
type Locks struct {
	pool *pgxpool.Pool
	node int64
}

var _ eventstore.Locks = (*Locks)(nil)

// NewLocks returns the locks in the pool's database that a present node takes.
func NewLocks(pool *pgxpool.Pool, present *Presence) *Locks {
	return &Locks{pool: pool, node: int64(uint32(nodeKey(present.node)))} //nolint:gosec // as Postgres shows it
}

// acquireSQL takes the lock of a key unless its request was answered, or runs.
const acquireSQL = `
insert into idempotency_locks as l (account_id, key, request_hash, request_id, node, until)
select $1, $2, $3, $4, $5, $6
 where not exists (select from receipts where account_id = $1 and key = $2 and created_at > $8 and status > 0)
on conflict (account_id, key) do update
   set request_hash = excluded.request_hash, request_id = excluded.request_id, node = excluded.node, until = excluded.until
 where l.until <= $7 or not exists (
    select from pg_locks
     where locktype = 'advisory' and granted and objsubid = 2 and classid = $9 and objid::bigint = l.node
       and database = (select oid from pg_database where datname = current_database()))`

// Acquire implements eventstore.Locks. The statements of its one round trip each see what
// was committed before it: a receipt that appeared while the lock was taken is found.
func (l *Locks) Acquire(ctx context.Context, c eventstore.Claim, now time.Time) (eventstore.Claimed, error) {
	since := now.Add(-eventstore.ReceiptWindow)
	var trip pgx.Batch
	trip.Queue(acquireSQL, c.AccountID, c.Key, c.RequestHash[:], c.RequestID, l.node, c.Until, now, since, int64(presenceClass))
	postgres.QueueReceipt(&trip, c.AccountID, c.Key, now)
	trip.Queue("select request_hash from idempotency_locks where account_id = $1 and key = $2", c.AccountID, c.Key)
	results := l.pool.SendBatch(ctx, &trip)
	claimed, err := acquired(results, c)
	if err = errors.Join(err, results.Close()); err != nil {
		return eventstore.Claimed{}, fmt.Errorf("claiming an idempotency key: %w", err)
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
	case !errors.Is(err, pgx.ErrNoRows): // it was given back meanwhile
		return eventstore.Claimed{}, err
	}
	if receipt != nil {
		claimed.Receipt, claimed.RequestHash = receipt, receipt.RequestHash
	}
	return claimed, nil
}

// Release implements eventstore.Locks.
func (l *Locks) Release(ctx context.Context, c eventstore.Claim) error {
	_, err := l.pool.Exec(ctx, "delete from idempotency_locks where account_id = $1 and key = $2 and request_id = $3",
		c.AccountID, c.Key, c.RequestID)
	if err != nil {
		return fmt.Errorf("giving an idempotency key back: %w", err)
	}
	return nil
}

// DeleteExpired removes up to limit locks whose time was up at now, and returns how many
// it removed.
func (l *Locks) DeleteExpired(ctx context.Context, now time.Time, limit int) (int64, error) {
	tag, err := l.pool.Exec(ctx, `delete from idempotency_locks where (account_id, key) in (
		select account_id, key from idempotency_locks where until <= $1 limit $2 for update skip locked)`, now, limit)
	if err != nil {
		return 0, fmt.Errorf("delete expired idempotency locks: %w", err)
	}
	return tag.RowsAffected(), nil
}
