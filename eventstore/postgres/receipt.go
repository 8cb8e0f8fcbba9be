package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"vqa/eventstore"
)

const receiptSQL = `select request_hash, resource_id, status, body, created_at from receipts
	where account_id = $1 and key = $2 and created_at > $3`

// Receipt implements eventstore.Store.
func (s *Store) Receipt(ctx context.Context, accountID, key string, now time.Time) (eventstore.Receipt, bool, error) {
	r, err := ScanReceipt(s.pool.QueryRow(ctx, receiptSQL, accountID, key, now.Add(-eventstore.ReceiptWindow)), accountID, key)
	if err != nil {
		return eventstore.Receipt{}, false, fmt.Errorf("receipt: %w", err)
	}
	if r == nil {
		return eventstore.Receipt{}, false, nil
	}
	return *r, true, nil
}

// QueueReceipt adds the query for the receipt of a key that is still within its window at now.
// ScanReceipt reads its result. A lock looks for the receipt in the same round trip.
func QueueReceipt(trip *pgx.Batch, accountID, key string, now time.Time) {
	trip.Queue(receiptSQL, accountID, key, now.Add(-eventstore.ReceiptWindow))
}

// ScanReceipt reads the result of the query of QueueReceipt. It returns nil when there is no
// receipt.
func ScanReceipt(row pgx.Row, accountID, key string) (*eventstore.Receipt, error) {
	r := eventstore.Receipt{AccountID: accountID, Key: key}
	var hash []byte
	err := row.Scan(&hash, &r.ResourceID, &r.Status, &r.Body, &r.CreatedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	copy(r.RequestHash[:], hash)
	r.CreatedAt = r.CreatedAt.UTC()
	return &r, nil
}

// SaveResponse implements eventstore.Store. It does not wait for the disk: when Postgres crashes right after it,
// the receipt has no response, as after a crash right before it. SaveResponse also releases the lock of the key, because from now
// on the receipt has the response. It returns an error when the receipt does not exist.
func (s *Store) SaveResponse(ctx context.Context, accountID, key string, status int, body []byte) error {
	tag, err := s.pool.Exec(ctx, `
		with unlocked as (delete from idempotency_locks where account_id = $1 and key = $2)
		update receipts set status = $3, body = $4 where account_id = $1 and key = $2
			and set_config('synchronous_commit', 'off', true) = 'off'`,
		accountID, key, status, bodyOf(body))
	if err != nil {
		return fmt.Errorf("save response: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return fmt.Errorf("save response: %s has no such receipt", accountID)
	}
	return nil
}

// DeleteExpiredReceipts deletes up to limit receipts whose window has passed at now. It returns how
// many it deleted.
func (s *Store) DeleteExpiredReceipts(ctx context.Context, now time.Time, limit int) (int64, error) {
	tag, err := s.pool.Exec(ctx, `delete from receipts where (account_id, key) in (
		select account_id, key from receipts where created_at <= $1
		 order by created_at limit $2 for update skip locked)`,
		now.Add(-eventstore.ReceiptWindow), limit)
	if err != nil {
		return 0, fmt.Errorf("delete expired receipts: %w", err)
	}
	return tag.RowsAffected(), nil
}

// bodyOf returns an empty slice for nil, because nil would be null in SQL.
func bodyOf(body []byte) []byte {
	if body == nil {
		return []byte{}
	}
	return body
}
