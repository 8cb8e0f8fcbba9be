package resources

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"vqa/domain/account"
	"vqa/eventstore/fold"
	"vqa/projections"
)

// maxSessions bounds a list of sessions. It is more than account.MaxSessions.
const maxSessions = 100

// sessions also keeps ended sessions, for the list of an account.
var sessions = projections.Model[account.Session, account.SessionEvent]{
	Name: "sessions", Of: fold.Session, Revision: 1, AccountColumn: "account_id",
	Columns: []projections.Column{
		{Name: "account_id", Type: "text"}, {Name: "secret_hash", Type: "text"}, {Name: "ended", Type: "boolean"},
		{Name: "opened_at", Type: "timestamptz"},
	},
	States: func(id string, s account.Session) []projections.Row {
		return []projections.Row{{ID: id, Values: []any{s.AccountID, s.SecretHash, s.EndedAt != nil, &s.OpenedAt}, Doc: s}}
	},
}

// passkeys has a row for each account, with all its passkeys.
var passkeys = projections.Model[account.Passkeys, account.PasskeyEvent]{
	Name: "passkeys", Of: fold.Passkeys, Revision: 1, AccountColumn: "id",
	States: func(id string, p account.Passkeys) []projections.Row {
		return []projections.Row{{ID: id, Doc: p}}
	},
}

// Session finds a session by the hash of its secret, in any state.
func (r *Reader) Session(ctx context.Context, secretHash string) (account.Session, bool, error) {
	return r.session(ctx, "select doc from sessions where secret_hash = $1", secretHash)
}

// SessionByID finds a session by its id, in any state.
func (r *Reader) SessionByID(ctx context.Context, id string) (account.Session, bool, error) {
	return r.session(ctx, "select doc from sessions where id = $1", id)
}

func (r *Reader) session(ctx context.Context, sql, key string) (account.Session, bool, error) {
	s, err := one[account.Session](ctx, r.pool, sql, key)
	if errors.Is(err, pgx.ErrNoRows) {
		return account.Session{}, false, nil
	}
	return s, err == nil, err
}

// Sessions lists the newest 100 sessions that are active at a time, of an account, or of all accounts if accountID is
// empty.
func (r *Reader) Sessions(ctx context.Context, accountID string, now time.Time) ([]account.Session, error) {
	rows, err := r.pool.Query(ctx, `select doc from sessions where not ended and ($1 = '' or account_id = $1)
		and (doc->>'expires_at')::timestamptz > $2 and (doc->>'last_used_at')::timestamptz > $3
		order by opened_at desc, id desc limit $4`, accountID, now, now.Add(-account.SessionIdle), maxSessions)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[account.Session])
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return list, nil
}

// Passkeys returns the passkeys of an account.
func (r *Reader) Passkeys(ctx context.Context, accountID string) (account.Passkeys, error) {
	p, err := one[account.Passkeys](ctx, r.pool, "select doc from passkeys where id = $1", accountID)
	if errors.Is(err, pgx.ErrNoRows) {
		return account.Passkeys{}, nil
	}
	return p, err
}
