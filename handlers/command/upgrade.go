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

// Identities vouches for the persons who upgrade.
type Identities interface {
	// Verify exchanges a token for the account that it belongs to, and forgets the token.
	// Errors: forge_verification_required for an empty token, with details of how to get
	// one; forge_token_invalid; upstream_error.
	Verify(ctx context.Context, token string) (account.Identity, error)
}

// Upgrade is a sandbox's order for a free live key.
type Upgrade struct {
	// AddressHash is the keyed hash of the client's address; empty for a client that is
	// not subject to the cap per address.
	AddressHash string
	// ForgeToken proves who asks; it is not looked at where nobody has to prove that.
	ForgeToken string
}

// Upgraded is what an upgrade gave.
type Upgraded struct {
	MintedKey
	GrantSeconds int64
}

// upgradeLane is the lane of all upgrades: they meet in the count of the day, and would
// otherwise be in each other's way.
const upgradeLane = "upgrades"

// Upgrade lifts the caller's sandbox to the free grant: a live key and a one-time grant
// (api-v1.md, POST /v1/keys/upgrade). Errors: test_mode_only for a live caller,
// resource_conflict when the account was upgraded already, upgrade_limit_exceeded, and
// where identities are asked for those of Identities and forge_account_already_used.
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
		// Whoever will be refused in any case is not sent to prove anything.
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

// upgrade records everything in one append, or nothing.
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
