package command

import (
	"context"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/eventstore/fold"
)

// upgradesMost is the limit of upgrades from one address in 24 hours.
const upgradesMost = 2

// someKey returns a key of the account or an unknown one.
func (s *sim) someKey(accountID string) string {
	if all := s.oracle.keys[accountID]; s.random.IntN(10) > 0 {
		return all[s.random.IntN(len(all))]
	}
	return "key_none"
}

// rotateOperation rotates a live key for the account's owner.
func (s *sim) rotateOperation(accountID string) operation {
	keyID, revoke := s.someKey(accountID), s.random.IntN(2) == 0
	o := operation{name: "rotate " + keyID, leaves: []string{"account.key_issued account.key_replaced"}}
	if revoke {
		o.leaves = []string{"account.key_issued account.key_replaced account.key_revoked"}
	}
	o.refused = func(m moments, code fault.Code) bool {
		return sometime(m, fold.Account, accountID, func(a account.State) bool {
			k, known := a.Keys[keyID]
			if !known || k.Mode != account.Live {
				return code == fault.ResourceNotFound
			}
			return code == fault.ResourceConflict && (k.RevokedAt != nil || k.ReplacedBy != "")
		})
	}
	o.run = func(ctx context.Context, svc *Service, request string, _ *Idempotency) outcome {
		key, err := svc.RotateKey(ctx, Caller{AccountID: accountID, Livemode: true, RequestID: request}, keyID, revoke)
		return outcome{resource: key.ID, err: err}
	}
	return o
}

// restrictOperation restricts an account or ends its restriction.
func (s *sim) restrictOperation(accountID string) operation {
	restrict := s.random.IntN(2) == 0
	o := operation{name: "unrestrict", leaves: []string{"account.unrestricted"}}
	if restrict {
		o = operation{name: "restrict", leaves: []string{"account.restricted"}}
	}
	o.refused = func(m moments, code fault.Code) bool {
		return code == fault.ResourceNotFound && sometime(m, fold.Account, accountID, func(a account.State) bool { return !a.Exists() })
	}
	o.idle = func(m moments) bool {
		return sometime(m, fold.Account, accountID, func(a account.State) bool { return (a.RestrictedAt != nil) == restrict })
	}
	o.run = func(ctx context.Context, svc *Service, request string, _ *Idempotency) outcome {
		if restrict {
			return outcome{err: svc.RestrictAccount(ctx, accountID, "sim", "sim", request)}
		}
		return outcome{err: svc.UnrestrictAccount(ctx, accountID, "sim", "sim", request)}
	}
	return o
}

// upgradeOperation upgrades a sandbox, which is one append over five streams of five categories.
func (s *sim) upgradeOperation(accountID string) operation {
	o := operation{
		name: "upgrade", leaves: []string{"account.key_issued account.upgraded credit.granted upgrade.granted upgrade_day.counted"},
	}
	o.refused = func(m moments, code fault.Code) bool {
		switch code {
		case fault.ResourceConflict:
			return sometime(m, fold.Account, accountID, func(a account.State) bool { return a.Tier != account.Sandbox })
		case fault.UpgradeLimitExceeded:
			return sometime(m, fold.Upgrade, "address", func(q account.UpgradeQuota) bool {
				recent := 0
				for _, t := range q.GrantedAt {
					if m.began.Sub(t) < account.UpgradeWindow {
						recent++
					}
				}
				return recent >= upgradesMost
			})
		}
		return false
	}
	o.run = func(ctx context.Context, svc *Service, request string, _ *Idempotency) outcome {
		upgraded, err := svc.Upgrade(ctx, Caller{AccountID: accountID, RequestID: request}, Upgrade{AddressHash: "address"})
		return outcome{resource: upgraded.ID, err: err}
	}
	return o
}
