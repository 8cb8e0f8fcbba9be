package projections_test

import (
	"context"

	"vqa/domain/grant"
	"vqa/domain/id"
)

// authorize registers a program, which a person allows or refuses. In most cases it continues: the program exchanges
// its code and a refresh token, or the permission is revoked.
func (c *client) authorize(ctx context.Context) error {
	registered, err := c.RegisterAgentClient(ctx, "req", grant.Register{Name: c.name, RedirectURIs: []string{"http://localhost/callback"}, AddressHash: c.name})
	if err != nil {
		return err
	}
	person := pick(c.rand, c.callers)
	terms := grant.Terms{
		GrantID: c.IDs.New(id.Grant), Livemode: c.rand.IntN(4) > 0, ClientID: registered.ID, RedirectURI: "http://localhost/callback",
		Resource: "https://video.example/mcp", Scope: "mcp", LimitSeconds: c.rand.Int64N(50),
	}
	if c.rand.IntN(4) == 0 {
		return c.DenyAgent(ctx, person, terms)
	}
	code, err := c.ApproveAgent(ctx, person, terms, "challenge")
	if err != nil || c.rand.IntN(4) == 0 {
		return err
	}
	tokens, err := c.RedeemCode(ctx, "req", grant.State{ID: terms.GrantID, AccountID: person.AccountID}, registered.ID, code)
	if err != nil {
		return err
	}
	if terms.Livemode {
		agent := person
		agent.KeyID, agent.GrantID, agent.GrantLimitSeconds = "", terms.GrantID, terms.LimitSeconds
		c.callers = append(c.callers, agent)
	}
	switch c.rand.IntN(3) {
	case 0:
		_, err = c.RefreshAgent(ctx, "req", tokens.State, registered.ID, tokens.Refresh)
	case 1:
		err = c.RevokeGrant(ctx, person, terms.GrantID)
	default:
		err = c.RevokeOwnGrant(ctx, "req", tokens.State, registered.ID)
	}
	return err
}
