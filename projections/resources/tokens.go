package resources

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"vqa/domain/account"
	"vqa/eventstore/fold"
	"vqa/projections"
)

// clientTokens also keeps expired tokens, so that they can be distinguished from unknown
// ones.
var clientTokens = projections.Model[account.ClientToken, account.ClientTokenMinted]{
	Name: "client_tokens", Of: fold.ClientToken, Revision: 1, AccountColumn: "account_id",
	Columns: []projections.Column{
		{Name: "account_id", Type: "text"}, {Name: "key_id", Type: "text"}, {Name: "secret_hash", Type: "text"},
	},
	States: func(id string, t account.ClientToken) []projections.Row {
		return []projections.Row{{ID: id, Values: []any{t.AccountID, t.KeyID, t.SecretHash}, Doc: t}}
	},
}

// ClientToken finds a client token by the hash of its secret, and the key that minted it,
// both in any state.
func (r *Reader) ClientToken(ctx context.Context, secretHash string) (account.ClientToken, account.Key, bool, error) {
	var t account.ClientToken
	var k account.Key
	var tokenDoc, keyDoc []byte
	err := r.pool.QueryRow(ctx,
		"select t.doc, k.doc from client_tokens t join api_keys k on k.id = t.key_id where t.secret_hash = $1",
		secretHash).Scan(&tokenDoc, &keyDoc)
	if errors.Is(err, pgx.ErrNoRows) {
		return t, k, false, nil
	}
	if err != nil {
		return t, k, false, fmt.Errorf("find a client token: %w", err)
	}
	if err := errors.Join(json.Unmarshal(tokenDoc, &t), json.Unmarshal(keyDoc, &k)); err != nil {
		return t, k, false, fmt.Errorf("read a client token: %w", err)
	}
	return t, k, true, nil
}

// Account returns an account by its id, without its keys.
func (r *Reader) Account(ctx context.Context, id string) (account.State, bool, error) {
	a, err := one[account.State](ctx, r.pool, "select doc from accounts where id = $1", id)
	if errors.Is(err, pgx.ErrNoRows) {
		return account.State{}, false, nil
	}
	return a, err == nil, err
}
