package ledger

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/projections"
)

// Reader reads the tables of this package.
type Reader struct{ pool *pgxpool.Pool }

// NewReader returns a reader on a pool.
func NewReader(pool *pgxpool.Pool) *Reader { return &Reader{pool: pool} }

// Balance returns an account's balance with its open holds. It is zero for an account
// without a credit event.
func (r *Reader) Balance(ctx context.Context, accountID string) (credit.State, error) {
	var doc []byte
	err := r.pool.QueryRow(ctx, "select doc from credit_balances where id = $1", accountID).Scan(&doc)
	if errors.Is(err, pgx.ErrNoRows) {
		return credit.State{AccountID: accountID}, nil
	}
	if err != nil {
		return credit.State{}, err
	}
	var s credit.State
	return s, json.Unmarshal(doc, &s)
}

// Transactions lists an account's transactions, newest first, and whether there are more.
// An empty kind matches all.
func (r *Reader) Transactions(ctx context.Context, accountID string, kind credit.Kind, p projections.Page) ([]Transaction, bool, error) {
	q := projections.List("credit_transactions", accountID).OrderedBy("version")
	if kind != "" {
		q = q.Where("kind = ?", string(kind))
	}
	return projections.Rows[Transaction](ctx, r.pool, q, p)
}

// Transaction returns a transaction of an account. Error: resource_not_found.
func (r *Reader) Transaction(ctx context.Context, accountID, id string) (Transaction, error) {
	var doc []byte
	err := r.pool.QueryRow(ctx, "select doc from credit_transactions where id = $1 and account_id = $2", id, accountID).Scan(&doc)
	if errors.Is(err, pgx.ErrNoRows) {
		return Transaction{}, fault.NotFound("id", id)
	}
	if err != nil {
		return Transaction{}, err
	}
	var t Transaction
	return t, json.Unmarshal(doc, &t)
}
