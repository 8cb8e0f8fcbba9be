package resources

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"vqa/domain/account"
)

// KeysOf returns the API keys behind actors of the log, in any state: an API key itself, and the key that
// minted a client token. It leaves out other actors, such as "session".
func (r *Reader) KeysOf(ctx context.Context, actors []string) (map[string]account.Key, error) {
	rows, err := r.pool.Query(ctx, `
		select a.id, k.doc from unnest($1::text[]) as a (id)
		join api_keys k on k.id = coalesce((select t.key_id from client_tokens t where t.id = a.id), a.id)`, actors)
	if err != nil {
		return nil, fmt.Errorf("read the keys of actors: %w", err)
	}
	found := map[string]account.Key{}
	var id string
	var doc []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &doc}, func() error {
		var k account.Key
		if err := json.Unmarshal(doc, &k); err != nil {
			return err
		}
		found[id] = k
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the keys of actors: %w", err)
	}
	return found, nil
}

// RestrictedAccounts reports which of some accounts are restricted.
func (r *Reader) RestrictedAccounts(ctx context.Context, ids []string) (map[string]bool, error) {
	rows, err := r.pool.Query(ctx, "select id from accounts where id = any($1) and doc->>'restricted_at' is not null", ids)
	if err != nil {
		return nil, fmt.Errorf("read restricted accounts: %w", err)
	}
	restricted := map[string]bool{}
	var id string
	_, err = pgx.ForEachRow(rows, []any{&id}, func() error { restricted[id] = true; return nil })
	if err != nil {
		return nil, fmt.Errorf("read restricted accounts: %w", err)
	}
	return restricted, nil
}
