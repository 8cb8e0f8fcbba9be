package command

import (
	"context"
	"time"

	"vqa/domain/account"
	"vqa/domain/credit"
	"vqa/domain/id"
	"vqa/domain/video"
	"vqa/eventstore"
)

// IssuedKey is a new API key with its secret.
type IssuedKey struct {
	AccountID string
	KeyID     string
	// Secret is returned only here. The service keeps its hash.
	Secret    string
	Mode      account.Mode
	ExpiresAt *time.Time
	// FixtureVideoID is set for a sandbox.
	FixtureVideoID string
}

// IssueSandbox opens an account for an anonymous caller, with a test key and its own fixture
// video. Only RequestID and Idempotency of the caller are set. An empty addressHash is exempt
// from the limit per address. Error: sandbox_limit_exceeded.
func (s *Service) IssueSandbox(ctx context.Context, caller Caller, addressHash string) (IssuedKey, error) {
	accountID, expires := s.IDs.New(id.Account), s.Now().Add(account.TestKeyLife)
	key, issue, err := s.newKey(accountID, account.Test, "sandbox", &expires)
	if err != nil {
		return IssuedKey{}, err
	}
	key.FixtureVideoID = s.IDs.New(id.Video)
	in := intent{accountID: accountID, meta: caller.meta(), receipt: caller.receipt(), test: true}
	in.meta.AccountID, in.meta.Actor = accountID, "anonymous"
	in.created(key.KeyID)
	if addressHash != "" {
		// All sandboxes of an address go through one lane, which counts them for the limit.
		in.accountID, in.streams = addressHash, []eventstore.StreamID{sandboxes.Stream(addressHash)}
	}
	err = s.Pipeline.do(ctx, in, func(ss *session) error {
		ss.fresh(accounts.Stream(accountID), videos.Stream(key.FixtureVideoID))
		if addressHash != "" {
			if _, err := sandboxes.record(ss, addressHash, account.OpenSandbox{
				AddressHash: addressHash, AccountID: accountID, Limit: s.Limits.SandboxPerIP,
			}); err != nil {
				return err
			}
		}
		if err := openAccount(ss, accountID, account.Sandbox, issue); err != nil {
			return err
		}
		_, err := videos.record(ss, key.FixtureVideoID, video.RegisterFixture{
			Registration: video.Registration{ID: key.FixtureVideoID, AccountID: accountID},
			Filename:     s.Fixture.Filename(), File: s.Fixture.File(),
		})
		return err
	})
	return key, err
}

// NewKey is an operator's command to issue an API key.
type NewKey struct {
	// AccountID is empty for a new account.
	AccountID string
	Mode      account.Mode
	// Tier is the tier of a new account.
	Tier account.Tier
	Name string
	// GrantSeconds is the grant of a new account. It may be 0.
	GrantSeconds int64
	ExpiresAt    *time.Time
	// Operator is the name of the operator.
	Operator string
	// RequestID identifies the command in the log. An empty one is replaced by a new one.
	RequestID string
}

// IssueKey issues an API key for an operator, in a new account unless the command names one. It opens the
// account of the operator.
// Error: resource_not_found for an unknown account.
func (s *Service) IssueKey(ctx context.Context, c NewKey) (IssuedKey, error) {
	opening := c.AccountID == ""
	if opening {
		c.AccountID = s.IDs.New(id.Account)
	}
	key, issue, err := s.newKey(c.AccountID, c.Mode, c.Name, c.ExpiresAt)
	if err != nil {
		return IssuedKey{}, err
	}
	if c.Mode == account.Test {
		key.FixtureVideoID = s.IDs.New(id.Video)
	}
	in := s.operatorIntent(c.AccountID, c.Operator, c.RequestID)
	in.streams = append(in.streams, accounts.Stream(c.AccountID), credits.Stream(c.AccountID))
	err = s.Pipeline.do(ctx, in, func(ss *session) error {
		if opening {
			if err := openAccount(ss, c.AccountID, c.Tier, issue); err != nil {
				return err
			}
		} else {
			if c.AccountID == OperatorAccount() {
				if err := s.openOperator(ss); err != nil {
					return err
				}
			}
			if _, err := accounts.record(ss, c.AccountID, issue); err != nil {
				return err
			}
		}
		if key.FixtureVideoID != "" {
			if _, err := videos.record(ss, key.FixtureVideoID, video.RegisterFixture{
				Registration: video.Registration{ID: key.FixtureVideoID, AccountID: c.AccountID},
				Filename:     s.Fixture.Filename(), File: s.Fixture.File(),
			}); err != nil {
				return err
			}
		}
		if c.GrantSeconds == 0 {
			return nil
		}
		_, err := credits.record(ss, c.AccountID, credit.Grant{
			AccountID: c.AccountID, TransactionID: s.IDs.New(id.Transaction), Kind: credit.SignupGrant, Seconds: c.GrantSeconds,
		})
		return err
	})
	return key, err
}

// newKey generates a secret and returns it with the command that records its hash.
func (s *Service) newKey(accountID string, mode account.Mode, name string, expiresAt *time.Time) (IssuedKey, account.IssueKey, error) {
	secret, err := account.NewSecret(mode, s.Entropy)
	if err != nil {
		return IssuedKey{}, account.IssueKey{}, err
	}
	key := IssuedKey{AccountID: accountID, KeyID: s.IDs.New(id.Key), Secret: secret, Mode: mode, ExpiresAt: expiresAt}
	return key, account.IssueKey{
		KeyID: key.KeyID, Mode: mode, Name: name, SecretHash: account.HashSecret(secret), Hint: account.Hint(secret),
		ExpiresAt: expiresAt,
	}, nil
}

func openAccount(ss *session, accountID string, tier account.Tier, key account.IssueKey) error {
	if _, err := accounts.record(ss, accountID, account.Open{AccountID: accountID, Tier: tier}); err != nil {
		return err
	}
	_, err := accounts.record(ss, accountID, key)
	return err
}
