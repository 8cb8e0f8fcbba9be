package command

import (
	"context"

	"vqa/domain/fault"
	"vqa/domain/grant"
	"vqa/domain/id"
	"vqa/domain/video"
	"vqa/eventstore"
	"vqa/eventstore/fold"
)

var (
	// A grant gets an event with each exchange of a refresh token.
	grants       = aggregate[grant.State, grant.Command, grant.Event]{Of: fold.Grant, decide: grant.Decide, snapshots: true}
	agentClients = aggregate[grant.Client, grant.ClientCommand, grant.ClientEvent]{Of: fold.AgentClient, decide: grant.DecideClient, snapshots: true}
)

// AgentTokens are new tokens of an agent. They are returned only here. The service keeps their hashes.
type AgentTokens struct {
	grant.State
	Access, Refresh string
}

// RegisterAgentClient adds a program that describes itself. c.AddressHash is the keyed hash of its address.
func (s *Service) RegisterAgentClient(ctx context.Context, requestID string, c grant.Register) (client grant.Client, err error) {
	c.ClientID = s.IDs.New(id.AgentClient)
	// A client has no account. Its address takes the place of one.
	in := agentIntent(c.AddressHash, requestID, "anonymous")
	err = s.Pipeline.do(ctx, in, func(ss *session) error {
		ss.fresh(agentClients.Stream(c.ClientID))
		client, err = agentClients.record(ss, c.ClientID, c)
		return err
	})
	return client, err
}

// agentIntent prepares the pipeline for a request that carries no credential of an account.
func agentIntent(accountID, requestID, actor string, streams ...eventstore.StreamID) intent {
	return intent{accountID: accountID, streams: streams, meta: eventstore.Meta{
		AccountID: accountID, RequestID: requestID, CorrelationID: requestID, CausationID: requestID, Actor: actor,
	}}
}

// ApproveAgent lets a client use the agent tools for the caller, and returns the authorization code. The grant's id
// is that of the shown page, so that the page has one use. Errors: resource_conflict for a page that was used,
// resource_not_found for a client that expired meanwhile, validation_failed for the limit.
func (s *Service) ApproveAgent(ctx context.Context, caller Caller, terms grant.Terms, challenge string) (code string, err error) {
	terms.AccountID = caller.AccountID
	if code, err = grant.NewSecret(grant.CodeSecret, terms.GrantID, s.Entropy); err != nil {
		return "", err
	}
	registered := id.Valid(id.AgentClient, terms.ClientID)
	in := caller.intent(grants.Stream(terms.GrantID))
	if registered {
		in.streams = append(in.streams, agentClients.Stream(terms.ClientID))
	}
	return code, s.Pipeline.do(ctx, in, func(ss *session) error {
		g, err := grants.record(ss, terms.GrantID, grant.Approve{Terms: terms, CodeHash: grant.Hash(code), Challenge: challenge})
		if err == nil && !terms.Livemode {
			err = s.addFixture(ss, caller.AccountID)
		}
		if err != nil || !registered {
			return err
		}
		_, err = agentClients.record(ss, terms.ClientID, grant.Keep{Until: g.ExpiresAt})
		return err
	})
}

// addFixture gives an account a fixture video of its own, which is all that test mode may ask about.
func (s *Service) addFixture(ss *session, accountID string) error {
	videoID := s.IDs.New(id.Video)
	ss.fresh(videos.Stream(videoID))
	_, err := videos.record(ss, videoID, video.RegisterFixture{
		Registration: video.Registration{ID: videoID, AccountID: accountID}, Filename: s.Fixture.Filename(), File: s.Fixture.File(),
	})
	return err
}

// DenyAgent records that the caller refuses a client. Error: resource_conflict for a page that was used.
func (s *Service) DenyAgent(ctx context.Context, caller Caller, terms grant.Terms) error {
	terms.AccountID = caller.AccountID
	return s.Pipeline.do(ctx, caller.intent(grants.Stream(terms.GrantID)), func(ss *session) error {
		_, err := grants.record(ss, terms.GrantID, grant.Deny{Terms: terms})
		return err
	})
}

// RedeemCode exchanges an authorization code for tokens. The caller has checked the verifier of the client. Errors:
// invalid_api_key for another client or code, token_expired, key_revoked, also for a code that is presented twice:
// that revokes the grant.
func (s *Service) RedeemCode(ctx context.Context, requestID string, g grant.State, clientID, code string) (AgentTokens, error) {
	family, err := grant.NewFamily(s.Entropy)
	if err != nil {
		return AgentTokens{}, err
	}
	return s.exchange(ctx, requestID, g, family, func(t grant.Tokens) grant.Command {
		return grant.Redeem{CodeHash: grant.Hash(code), ClientID: clientID, FamilyHash: grant.Hash(family), Tokens: t}
	})
}

// RefreshAgent exchanges a refresh token for new tokens. Errors are those of RedeemCode. A token that was exchanged
// more than a minute ago revokes the grant.
func (s *Service) RefreshAgent(ctx context.Context, requestID string, g grant.State, clientID, refresh string) (AgentTokens, error) {
	family := grant.Family(refresh)
	return s.exchange(ctx, requestID, g, family, func(t grant.Tokens) grant.Command {
		return grant.Refresh{ClientID: clientID, RefreshHash: grant.Hash(refresh), FamilyHash: grant.Hash(family), Tokens: t}
	})
}

func (s *Service) exchange(ctx context.Context, requestID string, g grant.State, family string, command func(grant.Tokens) grant.Command) (tokens AgentTokens, err error) {
	if tokens.Access, err = grant.NewSecret(grant.AccessToken, g.ID, s.Entropy); err != nil {
		return AgentTokens{}, err
	}
	if tokens.Refresh, err = grant.NewRefresh(g.ID, family, s.Entropy); err != nil {
		return AgentTokens{}, err
	}
	c := command(grant.Tokens{Access: grant.Hash(tokens.Access), Refresh: grant.Hash(tokens.Refresh)})
	err = s.Pipeline.do(ctx, agentIntent(g.AccountID, requestID, g.ID, grants.Stream(g.ID)), func(ss *session) (err error) {
		tokens.State, err = grants.record(ss, g.ID, c)
		return err
	})
	if err == nil && tokens.Status == grant.StatusRevoked {
		err = fault.New(fault.KeyRevoked, "This code or token was used before, so it may be stolen. The permission was revoked. Start the authorization again.")
	}
	if err != nil {
		return AgentTokens{}, err
	}
	return tokens, nil
}

// RevokeGrant ends a permission that the caller gave. It is idempotent. Error: resource_not_found.
func (s *Service) RevokeGrant(ctx context.Context, caller Caller, grantID string) error {
	return s.revokeGrant(ctx, caller.intent(grants.Stream(grantID)), grantID, grant.Revoke{AccountID: caller.AccountID, Reason: grant.ByPerson})
}

// RevokeOwnGrant ends a permission for the client that has it. It is idempotent. Error: resource_not_found for
// another client.
func (s *Service) RevokeOwnGrant(ctx context.Context, requestID string, g grant.State, clientID string) error {
	in := agentIntent(g.AccountID, requestID, g.ID, grants.Stream(g.ID))
	return s.revokeGrant(ctx, in, g.ID, grant.Revoke{ClientID: clientID, Reason: grant.ByClient})
}

// RevokeGrantOf ends a permission of an account for an operator. It is idempotent. Error: resource_not_found.
func (s *Service) RevokeGrantOf(ctx context.Context, accountID, grantID, operator, requestID string) error {
	in := s.operatorIntent(accountID, operator, requestID)
	in.streams = append(in.streams, grants.Stream(grantID))
	return s.revokeGrant(ctx, in, grantID, grant.Revoke{AccountID: accountID, Reason: grant.ByOperator})
}

func (s *Service) revokeGrant(ctx context.Context, in intent, grantID string, c grant.Revoke) error {
	return s.Pipeline.do(ctx, in, func(ss *session) error {
		_, err := grants.record(ss, grantID, c)
		return err
	})
}
