package resources

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"vqa/domain/grant"
	"vqa/eventstore/fold"
	"vqa/projections"
)

// maxGrants is the most grants of a list.
const maxGrants = 200

// agentGrants also keeps ended grants, so that they can be distinguished from unknown ones.
var agentGrants = projections.Model[grant.State, grant.Event]{
	Name: "agent_grants", Of: fold.Grant, Revision: 1, AccountColumn: "account_id",
	Columns: []projections.Column{{Name: "account_id", Type: "text"}, {Name: "status", Type: "text"}, {Name: "created_at", Type: "timestamptz"}},
	States: func(id string, s grant.State) []projections.Row {
		return []projections.Row{{ID: id, Values: []any{s.AccountID, string(s.Status), &s.DecidedAt}, Doc: s}}
	},
}

// agentClients belong to no account: a client registers before a person approves it.
var agentClients = projections.Model[grant.Client, grant.ClientEvent]{
	Name: "agent_clients", Of: fold.AgentClient, Revision: 1, AccountColumn: "id",
	Columns: []projections.Column{
		{Name: "address_hash", Type: "text"}, {Name: "approved", Type: "boolean"}, {Name: "expires_at", Type: "timestamptz"},
	},
	States: func(id string, c grant.Client) []projections.Row {
		return []projections.Row{{ID: id, Values: []any{c.AddressHash, c.Approved, &c.ExpiresAt}, Doc: c}}
	},
}

// Grant returns a grant by its id, in any state.
func (r *Reader) Grant(ctx context.Context, id string) (grant.State, bool, error) {
	g, err := one[grant.State](ctx, r.pool, "select doc from agent_grants where id = $1", id)
	if errors.Is(err, pgx.ErrNoRows) {
		return grant.State{}, false, nil
	}
	return g, err == nil, err
}

// Grants lists the newest grants of an account that were not denied, at most 200, newest first.
func (r *Reader) Grants(ctx context.Context, accountID string) ([]grant.State, error) {
	rows, err := r.pool.Query(ctx, `select doc from agent_grants where account_id = $1 and status <> 'denied'
		order by created_at desc, id desc limit $2`, accountID, maxGrants)
	if err != nil {
		return nil, fmt.Errorf("list grants: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (g grant.State, err error) {
		var doc []byte
		if err := row.Scan(&doc); err != nil {
			return g, err
		}
		return g, json.Unmarshal(doc, &g)
	})
}

// AgentClient returns a registered client by its id, also an expired one.
func (r *Reader) AgentClient(ctx context.Context, id string) (grant.Client, bool, error) {
	c, err := one[grant.Client](ctx, r.pool, "select doc from agent_clients where id = $1", id)
	if errors.Is(err, pgx.ErrNoRows) {
		return grant.Client{}, false, nil
	}
	return c, err == nil, err
}

// UnusedAgentClients counts the clients that an address registered, that no person has approved, and that have
// not expired.
func (r *Reader) UnusedAgentClients(ctx context.Context, addressHash string, now time.Time) (int, error) {
	var n int
	err := r.pool.QueryRow(ctx, "select count(*) from agent_clients where address_hash = $1 and not approved and expires_at > $2",
		addressHash, now).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count registered clients: %w", err)
	}
	return n, nil
}
