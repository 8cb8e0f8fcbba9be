package resources

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"vqa/domain/account"
	"vqa/eventstore/fold"
	"vqa/projections"
)

// keys has a row for every API key ever issued. Ended keys stay, so that they can be
// distinguished from unknown ones. A row contains the restriction of its account.
var keys = projections.Model[account.State, account.Event]{
	Name: "api_keys", Of: fold.Account, Revision: 2, AccountColumn: "account_id",
	Columns: []projections.Column{
		{Name: "account_id", Type: "text"}, {Name: "livemode", Type: "boolean"}, {Name: "secret_hash", Type: "text"},
		{Name: "created_at", Type: "timestamptz"},
	},
	States: func(_ string, s account.State) []projections.Row {
		byID := func(a, b account.Key) int { return cmp.Compare(a.ID, b.ID) }
		rows := make([]projections.Row, 0, len(s.Keys))
		for _, k := range slices.SortedFunc(maps.Values(s.Keys), byID) {
			rows = append(rows, projections.Row{ID: k.ID, Values: []any{k.AccountID, k.Livemode(), k.SecretHash, &k.IssuedAt}, Doc: k})
		}
		return rows
	},
}

// Key finds an API key by the hash of its secret, in any state.
func (r *Reader) Key(ctx context.Context, secretHash string) (account.Key, bool, error) {
	k, err := one[account.Key](ctx, r.pool, "select doc from api_keys where secret_hash = $1", secretHash)
	if errors.Is(err, pgx.ErrNoRows) {
		return account.Key{}, false, nil
	}
	return k, err == nil, err
}

// OwnKey returns an API key of the tenant in any state, or resource_not_found.
func (r *Reader) OwnKey(ctx context.Context, t Tenant, id string) (account.Key, error) {
	k, err := one[account.Key](ctx, r.pool,
		"select doc from api_keys where id = $1 and account_id = $2 and livemode = $3", id, t.AccountID, t.Livemode)
	return k, notFound(err, id)
}

// Keys lists the tenant's API keys including ended ones, newest first, and whether there
// are more.
func (r *Reader) Keys(ctx context.Context, t Tenant, p projections.Page) ([]account.Key, bool, error) {
	q := projections.List("api_keys", t.AccountID).Within("livemode = ?", t.Livemode)
	return projections.Rows[account.Key](ctx, r.pool, q, p)
}
