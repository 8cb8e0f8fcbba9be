package command

import (
	"context"

	"vqa/domain/account"
	"vqa/domain/id"
	"vqa/eventstore"
)

// MintedKey is a new API key with its secret.
type MintedKey struct {
	account.Key
	// Secret is returned only here. The service keeps its hash.
	Secret string
}

// mode is the mode of the keys that the caller may manage. A test key manages only test keys.
func (c Caller) mode() account.Mode {
	if c.Livemode {
		return account.Live
	}
	return account.Test
}

// MintKey creates an API key for the caller's account. nil scopes mean those of the caller's key.
// Errors: insufficient_scope for a scope that the caller's key lacks, resource_conflict when the
// account has too many keys.
func (s *Service) MintKey(ctx context.Context, caller Caller, name string, scopes []string) (MintedKey, error) {
	key, issue, err := s.newKey(caller.AccountID, caller.mode(), name, nil)
	if err != nil {
		return MintedKey{}, err
	}
	return s.mint(ctx, caller, key, account.MintKey{
		By: caller.KeyID, Mode: caller.mode(), KeyID: key.KeyID, Name: name, SecretHash: issue.SecretHash, Hint: issue.Hint, Scopes: scopes,
	})
}

// RotateKey replaces an API key of the caller's account and mode. Errors: resource_not_found,
// insufficient_scope when the key has a scope that the caller's key lacks, resource_conflict for
// a key that has ended or was rotated already.
func (s *Service) RotateKey(ctx context.Context, caller Caller, keyID string, revokeOld bool) (MintedKey, error) {
	key, issue, err := s.newKey(caller.AccountID, caller.mode(), "", nil)
	if err != nil {
		return MintedKey{}, err
	}
	return s.mint(ctx, caller, key, account.RotateKey{
		By: caller.KeyID, Mode: caller.mode(), KeyID: keyID, NewKeyID: key.KeyID, SecretHash: issue.SecretHash, Hint: issue.Hint,
		RevokeOld: revokeOld,
	})
}

func (s *Service) mint(ctx context.Context, caller Caller, key IssuedKey, c account.Command) (MintedKey, error) {
	minted := MintedKey{Secret: key.Secret}
	in := caller.intent(accounts.Stream(caller.AccountID))
	in.created(key.KeyID)
	err := s.Pipeline.do(ctx, in, func(ss *session) error {
		a, err := accounts.record(ss, caller.AccountID, c)
		minted.Key = a.Keys[key.KeyID]
		return err
	})
	return minted, err
}

// RevokeOwnKey revokes an API key of the caller's account and mode. It is idempotent. Error:
// resource_not_found.
func (s *Service) RevokeOwnKey(ctx context.Context, caller Caller, keyID string) error {
	return s.Pipeline.do(ctx, caller.intent(accounts.Stream(caller.AccountID)), func(ss *session) error {
		_, err := accounts.record(ss, caller.AccountID, account.RevokeKey{KeyID: keyID, Mode: caller.mode()})
		return err
	})
}

// RevokeKey revokes an API key for an operator. Error: resource_not_found.
func (s *Service) RevokeKey(ctx context.Context, accountID, keyID, operator, requestID string) error {
	return s.changeAccount(ctx, accountID, operator, requestID, account.RevokeKey{KeyID: keyID})
}

// RestrictAccount makes the service refuse all requests of an account. It is idempotent. Error:
// resource_not_found.
func (s *Service) RestrictAccount(ctx context.Context, accountID, reason, operator, requestID string) error {
	return s.changeAccount(ctx, accountID, operator, requestID, account.Restrict{Reason: reason})
}

// UnrestrictAccount makes the service accept requests of a restricted account again. It is
// idempotent. Error: resource_not_found.
func (s *Service) UnrestrictAccount(ctx context.Context, accountID, reason, operator, requestID string) error {
	return s.changeAccount(ctx, accountID, operator, requestID, account.Unrestrict{Reason: reason})
}

// changeAccount runs a command of an operator on an account.
func (s *Service) changeAccount(ctx context.Context, accountID, operator, requestID string, c account.Command) error {
	in := s.operatorIntent(accountID, operator, requestID)
	in.streams = append(in.streams, accounts.Stream(accountID))
	return s.Pipeline.do(ctx, in, func(ss *session) error {
		_, err := accounts.record(ss, accountID, c)
		return err
	})
}

// LegacyKey is an operator's command to accept a key that is older than this API
// (docs/contract.md#legacy-keys).
type LegacyKey struct {
	AccountID, Name string
	// Secret begins with pk_. Only its hash is stored.
	Secret string
	// Operator is the name of the operator.
	Operator string
	// RequestID identifies the command in the log. An empty one is replaced by a new one.
	RequestID string
}

// ImportKey adds a legacy key to an account as a live key and returns its new id. Errors:
// validation_failed, resource_not_found for an unknown account, resource_conflict when the
// account has the key already.
func (s *Service) ImportKey(ctx context.Context, c LegacyKey) (string, error) {
	if err := account.CheckLegacySecret(c.Secret); err != nil {
		return "", err
	}
	keyID := s.IDs.New(id.Key)
	return keyID, s.changeAccount(ctx, c.AccountID, c.Operator, c.RequestID, account.IssueKey{
		KeyID: keyID, Mode: account.Live, Name: c.Name, SecretHash: account.HashSecret(c.Secret), Hint: account.Hint(c.Secret), Legacy: true,
	})
}

// useKey records that a key authenticated a request.
func (s *Service) useKey(ctx context.Context, accountID, keyID, requestID string) error {
	in := intent{
		accountID: accountID,
		meta: eventstore.Meta{
			AccountID: accountID, RequestID: requestID, CorrelationID: requestID, CausationID: requestID, Actor: keyID,
		},
		streams: []eventstore.StreamID{accounts.Stream(accountID)},
	}
	return s.Pipeline.do(ctx, in, func(ss *session) error {
		_, err := accounts.record(ss, accountID, account.UseKey{KeyID: keyID})
		return err
	})
}
