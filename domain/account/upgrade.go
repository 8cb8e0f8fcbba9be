package account

import (
	"time"

	"vqa/domain/fault"
)

// UpgradeWindow is the rolling window of the upgrade limit of one address
// (docs/contract.md#limit-provisioning).
const UpgradeWindow = 24 * time.Hour

// GrantUpgrade counts one more upgrade against the limit of an address or of a day.
type GrantUpgrade struct {
	// AddressHash is the keyed hash of the client's address.
	AddressHash string
	AccountID   string
	// Limit is the largest number of upgrades: of an address within the window, or of the
	// whole service on one day.
	Limit int
}

// UpgradeGranted says that an address upgraded an account. A keyed hash of the address
// names the stream, never the address itself.
type UpgradeGranted struct {
	// AddressHash is the id of the stream.
	AddressHash string    `json:"address_hash"`
	AccountID   string    `json:"account_id"`
	At          time.Time `json:"at"`
}

// UpgradeCounted says that an upgrade was counted on its day.
type UpgradeCounted struct {
	AccountID string    `json:"account_id"`
	At        time.Time `json:"at"`
}

// EventType returns the stored name.
func (UpgradeGranted) EventType() string { return "upgrade.granted" }

// EventType returns the stored name.
func (UpgradeCounted) EventType() string { return "upgrade_day.counted" }

// UpgradeQuota is the use of the upgrade limit by one address.
type UpgradeQuota struct {
	// GrantedAt are the times of the upgrades, oldest first, within the window before the
	// last event.
	GrantedAt []time.Time `json:"granted_at"`
}

// EvolveUpgradeQuota folds one event into the quota.
func EvolveUpgradeQuota(q UpgradeQuota, e UpgradeGranted) UpgradeQuota {
	return UpgradeQuota{GrantedAt: append(within(q.GrantedAt, UpgradeWindow, e.At), e.At)}
}

// DecideUpgradeQuota allows one more upgrade for an address. At the limit it returns
// upgrade_limit_exceeded with the seconds until the oldest one leaves the window.
func DecideUpgradeQuota(q UpgradeQuota, c GrantUpgrade, now time.Time) ([]UpgradeGranted, error) {
	if used := within(q.GrantedAt, UpgradeWindow, now); len(used) >= c.Limit {
		return nil, capReached(fault.UpgradeLimitExceeded, "This address has made %d upgrades in 24 hours, the maximum.",
			c.Limit, now, secondsUntilRoom(used, UpgradeWindow, now))
	}
	return []UpgradeGranted{{AddressHash: c.AddressHash, AccountID: c.AccountID, At: now}}, nil
}

// UpgradeDay is the number of upgrades of the whole service on one day in UTC.
type UpgradeDay struct {
	Count int `json:"count"`
}

// UpgradeDayOf returns the name of the stream of a day: the date in UTC.
func UpgradeDayOf(now time.Time) string { return now.UTC().Format(time.DateOnly) }

// EvolveUpgradeDay folds one event into the count.
func EvolveUpgradeDay(d UpgradeDay, _ UpgradeCounted) UpgradeDay {
	d.Count++
	return d
}

// DecideUpgradeDay counts one more upgrade of the day. At the limit it returns
// upgrade_limit_exceeded with the seconds until the next day.
func DecideUpgradeDay(d UpgradeDay, c GrantUpgrade, now time.Time) ([]UpgradeCounted, error) {
	if d.Count >= c.Limit {
		midnight := now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
		return nil, capReached(fault.UpgradeLimitExceeded, "This service has granted %d upgrades today, the maximum.",
			c.Limit, now, secondsUntil(midnight, now)).WithDetail("scope", "service")
	}
	return []UpgradeCounted{{AccountID: c.AccountID, At: now}}, nil
}

// Identity is an account at an identity provider. Only its number there is stored.
type Identity struct {
	// Provider is the host name of the identity provider.
	Provider string `json:"provider"`
	// ID is the number of the account at the provider, greater than 0.
	ID int64 `json:"id"`
}

// ClaimIdentity uses the one free grant of an identity.
type ClaimIdentity struct {
	Identity
	AccountID string
}

// IdentityClaimed says that the one free grant of an account at an identity provider was
// used.
type IdentityClaimed struct {
	Provider string `json:"provider"`
	// ProviderAccountID is the number of the account at the provider.
	ProviderAccountID int64     `json:"provider_account_id"`
	AccountID         string    `json:"account_id"`
	At                time.Time `json:"at"`
}

// EventType returns the stored name.
func (IdentityClaimed) EventType() string { return "identity.claimed" }

// IdentityClaim records which account used the free grant of an identity.
type IdentityClaim struct {
	// AccountID is the account that received the grant. It is empty before that.
	AccountID string `json:"account_id"`
}

// EvolveIdentityClaim folds one event into the claim.
func EvolveIdentityClaim(_ IdentityClaim, e IdentityClaimed) IdentityClaim {
	return IdentityClaim{AccountID: e.AccountID}
}

// DecideIdentityClaim claims an identity once. Every later claim returns
// forge_account_already_used.
func DecideIdentityClaim(s IdentityClaim, c ClaimIdentity, now time.Time) ([]IdentityClaimed, error) {
	if s.AccountID != "" {
		return nil, fault.New(fault.ForgeAccountAlreadyUsed, "")
	}
	return []IdentityClaimed{{Provider: c.Provider, ProviderAccountID: c.ID, AccountID: c.AccountID, At: now}}, nil
}
