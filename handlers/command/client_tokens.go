package command

import (
	"context"
	"time"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/eventstore"
)

// MintClientToken is the command to create a client token, which is safe to use in a browser.
type MintClientToken struct {
	Scopes []string
	// Life is 60 s to 900 s.
	Life time.Duration
	// VideoID or StreamID binds the token to one resource. At most one is set.
	VideoID, StreamID string
}

// MintedClientToken is a new client token with its secret.
type MintedClientToken struct {
	account.ClientToken
	// Secret is returned only here. The service keeps its hash.
	Secret string
}

// MintClientToken creates a client token. Errors: insufficient_scope when the request has no API
// key or the key lacks a scope, validation_failed, resource_not_found for a video or stream that is not
// the caller's.
func (s *Service) MintClientToken(ctx context.Context, caller Caller, c MintClientToken) (MintedClientToken, error) {
	if caller.KeyID == "" || caller.TokenID != "" {
		return MintedClientToken{}, fault.New(fault.InsufficientScope, "Only an API key can create a client token. Send the request with an API key.")
	}
	secret, err := account.NewClientTokenSecret(s.Entropy)
	if err != nil {
		return MintedClientToken{}, err
	}
	mint := account.MintClientToken{
		TokenID: s.IDs.New(id.ClientToken), AccountID: caller.AccountID, KeyID: caller.KeyID, KeyScopes: caller.Scopes,
		SecretHash: account.HashSecret(secret), Scopes: c.Scopes, Life: c.Life, VideoID: c.VideoID, StreamID: c.StreamID,
	}
	var touched []eventstore.StreamID
	if c.VideoID != "" {
		touched = append(touched, videos.Stream(c.VideoID))
	}
	if c.StreamID != "" {
		touched = append(touched, streams.Stream(c.StreamID))
	}
	minted := MintedClientToken{Secret: secret}
	in := caller.intent(touched...)
	in.created(mint.TokenID)
	err = s.Pipeline.do(ctx, in, func(ss *session) error {
		ss.fresh(clientTokens.Stream(mint.TokenID))
		if minted.ClientToken, err = clientTokens.record(ss, mint.TokenID, mint); err != nil {
			return err
		}
		return checkBound(ss, caller, c)
	})
	return minted, err
}

// checkBound checks that the caller has the video or the stream that a token is bound to. The stream may have
// ended. Error: resource_not_found.
func checkBound(ss *session, caller Caller, c MintClientToken) error {
	if c.VideoID != "" {
		v, err := videos.get(ss, c.VideoID)
		if err == nil && !owns(caller, v) {
			err = fault.NotFound("video_id", c.VideoID)
		}
		if err != nil {
			return err
		}
	}
	if c.StreamID == "" {
		return nil
	}
	st, err := streams.get(ss, c.StreamID)
	if err == nil && (!st.Exists() || st.AccountID != caller.AccountID || st.Livemode != caller.Livemode) {
		err = fault.NotFound("stream_id", c.StreamID)
	}
	return err
}

// SignIn opens the account of a person at the first sign-in with a session of the issuer, and notes a new email
// address. It is idempotent. It returns the account's id.
func (s *Service) SignIn(ctx context.Context, p Person, requestID string) (string, error) {
	accountID := account.OwnedID(p.Issuer, p.Subject)
	caller := Caller{AccountID: accountID, Livemode: true, RequestID: requestID}
	err := s.Pipeline.do(ctx, caller.intent(accounts.Stream(accountID)), func(ss *session) error {
		_, err := accounts.record(ss, accountID, account.SignUp{AccountID: accountID, Owner: account.OwnerHash(p.Issuer, p.Subject), Email: p.Email})
		return err
	})
	return accountID, err
}
