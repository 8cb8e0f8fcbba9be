package command

import (
	"context"
	"fmt"

	"vqa/domain/account"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/eventstore"
	"vqa/eventstore/fold"
)

var (
	upgrades = aggregate[account.UpgradeQuota, account.GrantUpgrade, account.UpgradeGranted]{
		Of: fold.Upgrade, decide: account.DecideUpgradeQuota, snapshots: true,
	}
	upgradeDays = aggregate[account.UpgradeDay, account.GrantUpgrade, account.UpgradeCounted]{
		Of: fold.UpgradeDay, decide: account.DecideUpgradeDay, snapshots: true,
	}
	identityClaims = aggregate[account.IdentityClaim, account.ClaimIdentity, account.IdentityClaimed]{
		Of: fold.IdentityClaim, decide: account.DecideIdentityClaim,
	}
)

// Identities verifies the persons who upgrade a sandbox.
type Identities interface {
	// Verify returns the person that a token belongs to. It does not store the token. Errors:
	// forge_verification_required for an empty token, with details of how to get one;
	// forge_token_invalid; upstream_error.
	Verify(ctx context.Context, token string) (account.Identity, error)
}

// Upgrade is the command to give a sandbox a free live key.
type Upgrade struct {
	// AddressHash is the keyed hash of the client's address. It is empty for a client that is
	// exempt from the limit per address.
	AddressHash string
	// ForgeToken proves the identity of the caller. It is ignored when no proof is needed.
	ForgeToken string
}

// Upgraded is the result of an upgrade.
type Upgraded struct {
	MintedKey
	GrantSeconds int64
}

// upgradeLane is the lane of all upgrades. They all write the count of the day, so in different
// lanes they would conflict.
const upgradeLane = "upgrades"

// Upgrade gives the caller's sandbox a live key and a one-time grant (docs/contract.md#upgrade).
// Errors: test_mode_only for a live caller, resource_conflict when the account was upgraded
// already, upgrade_limit_exceeded. When proof of identity is needed, also
// forge_account_already_used and the errors of Identities.
func (s *Service) Upgrade(ctx context.Context, caller Caller, c Upgrade) (Upgraded, error) {
	if caller.Livemode {
		return Upgraded{}, fault.New(fault.TestModeOnly, "")
	}
	key, issue, err := s.newKey(caller.AccountID, account.Live, "free grant", nil)
	if err != nil {
		return Upgraded{}, err
	}
	issue.IdleS = int64(account.UpgradedKeyIdle.Seconds())
	var identity *account.Identity
	if s.Identities != nil {
		// Refuse first when the upgrade is impossible, before the caller proves an identity.
		if _, err := s.upgrade(ctx, caller, c.AddressHash, issue, nil, true); err != nil {
			return Upgraded{}, err
		}
		verified, err := s.Identities.Verify(ctx, c.ForgeToken)
		if err != nil {
			return Upgraded{}, err
		}
		identity = &verified
	}
	upgraded, err := s.upgrade(ctx, caller, c.AddressHash, issue, identity, false)
	upgraded.Secret = key.Secret
	return upgraded, err
}

// upgrade records the key, the grant and the counts in one append.
func (s *Service) upgrade(ctx context.Context, caller Caller, addressHash string, issue account.IssueKey, identity *account.Identity, dryRun bool) (Upgraded, error) {
	day := account.UpgradeDayOf(s.Now())
	in := intent{accountID: upgradeLane, meta: caller.meta(), receipt: caller.receipt(), dryRun: dryRun, streams: []eventstore.StreamID{
		accounts.Stream(caller.AccountID), credits.Stream(caller.AccountID), upgradeDays.Stream(day),
	}}
	if addressHash != "" {
		in.streams = append(in.streams, upgrades.Stream(addressHash))
	}
	claim := ""
	if identity != nil {
		claim = fmt.Sprintf("%s:%d", identity.Provider, identity.ID)
		in.streams = append(in.streams, identityClaims.Stream(claim))
	}
	in.created(issue.KeyID)
	upgraded := Upgraded{GrantSeconds: s.Limits.SignupGrantSeconds}
	err := s.Pipeline.do(ctx, in, func(ss *session) error {
		if _, err := accounts.record(ss, caller.AccountID, account.Upgrade{}); err != nil {
			return err
		}
		a, err := accounts.record(ss, caller.AccountID, issue)
		if err != nil {
			return err
		}
		upgraded.Key = a.Keys[issue.KeyID]
		if identity != nil {
			if _, err := identityClaims.record(ss, claim, account.ClaimIdentity{Identity: *identity, AccountID: a.ID}); err != nil {
				return err
			}
		}
		grant := account.GrantUpgrade{AddressHash: addressHash, AccountID: a.ID, Limit: s.Limits.UpgradesPerAddress}
		if addressHash != "" {
			if _, err := upgrades.record(ss, addressHash, grant); err != nil {
				return err
			}
		}
		grant.Limit = s.Limits.UpgradesPerDay
		if _, err := upgradeDays.record(ss, day, grant); err != nil {
			return err
		}
		if upgraded.GrantSeconds == 0 {
			return nil
		}
		_, err = credits.record(ss, a.ID, credit.Grant{
			AccountID: a.ID, TransactionID: s.IDs.New(id.Transaction), Kind: credit.SignupGrant, Seconds: upgraded.GrantSeconds,
		})
		return err
	})
	return upgraded, err
}
