package resources

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"vqa/domain/account"
)

// Credential is what an actor of the log authenticated with: an API key, or a session of this service. The other one
// does not exist.
type Credential struct {
	Key     account.Key
	Session account.Session
}

// CredentialsOf returns the credentials of actors of the log, in any state: an API key itself, the key that minted a
// client token, and a session. It leaves out other actors, such as a person with a session of another issuer.
func (r *Reader) CredentialsOf(ctx context.Context, actors []string) (map[string]Credential, error) {
	rows, err := r.pool.Query(ctx, `
		select a.id, k.doc, s.doc from unnest($1::text[]) as a (id)
		left join api_keys k on k.id = coalesce((select t.key_id from client_tokens t where t.id = a.id), a.id)
		left join sessions s on s.id = a.id
		where k.id is not null or s.id is not null`, actors)
	if err != nil {
		return nil, fmt.Errorf("read the credentials of actors: %w", err)
	}
	found := map[string]Credential{}
	var id string
	var key *account.Key
	var session *account.Session
	_, err = pgx.ForEachRow(rows, []any{&id, &key, &session}, func() error {
		var c Credential
		if key != nil {
			c.Key = *key
		}
		if session != nil {
			c.Session = *session
		}
		found[id] = c
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the credentials of actors: %w", err)
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
