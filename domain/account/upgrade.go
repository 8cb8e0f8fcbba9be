package account

import (
	"time"

	"vqa/domain/fault"
)

// UpgradeWindow is the rolling window of the cap of one address (api-v1.md, "Limits":
// 3 per IP per 24h).
const UpgradeWindow = 24 * time.Hour

// GrantUpgrade asks for one more upgrade, of an address or of a day.
type GrantUpgrade struct {
	// AddressHash is the keyed hash of the client's address.
	AddressHash string
	AccountID   string
	// Limit is how many there may be: within the window for an address, on one day for
	// the whole service.
	Limit int
}

// UpgradeGranted says that an address upgraded an account. Its stream is named by a
// keyed hash of the address, never by the address itself.
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

// UpgradeQuota is what one address has used of the cap.
type UpgradeQuota struct {
	// GrantedAt are the times within the window before the last event, oldest first.
	GrantedAt []time.Time `json:"granted_at"`
}

// EvolveUpgradeQuota folds one event into the quota.
func EvolveUpgradeQuota(q UpgradeQuota, e UpgradeGranted) UpgradeQuota {
	return UpgradeQuota{GrantedAt: append(within(q.GrantedAt, UpgradeWindow, e.At), e.At)}
}

// DecideUpgradeQuota allows one more upgrade of an address, or refuses it with
// upgrade_limit_exceeded and the seconds until the oldest leaves the window.
func DecideUpgradeQuota(q UpgradeQuota, c GrantUpgrade, now time.Time) ([]UpgradeGranted, error) {
	if used := within(q.GrantedAt, UpgradeWindow, now); len(used) >= c.Limit {
		return nil, capReached(fault.UpgradeLimitExceeded, "This address has used its %d upgrades per 24 hours.",
			c.Limit, now, secondsUntilRoom(used, UpgradeWindow, now))
	}
	return []UpgradeGranted{{AddressHash: c.AddressHash, AccountID: c.AccountID, At: now}}, nil
}

// UpgradeDay is how many upgrades the whole service made on one day in UTC.
type UpgradeDay struct {
	Count int `json:"count"`
}

// UpgradeDayOf names the stream of a day: the date in UTC.
func UpgradeDayOf(now time.Time) string { return now.UTC().Format(time.DateOnly) }

// EvolveUpgradeDay folds one event into the count.
func EvolveUpgradeDay(d UpgradeDay, _ UpgradeCounted) UpgradeDay {
	d.Count++
	return d
}

// DecideUpgradeDay counts one more upgrade of the day, or refuses it with
// upgrade_limit_exceeded and the seconds until the next day.
func DecideUpgradeDay(d UpgradeDay, c GrantUpgrade, now time.Time) ([]UpgradeCounted, error) {
	if d.Count >= c.Limit {
		midnight := now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
		return nil, capReached(fault.UpgradeLimitExceeded, "All %d upgrades of this service for today are used.",
			c.Limit, now, secondsUntil(midnight, now)).WithDetail("scope", "service")
	}
	return []UpgradeCounted{{AccountID: c.AccountID, At: now}}, nil
}

// Identity is an account at the provider of identities: nothing of it is kept but its
// number there.
type Identity struct {
	// Provider is the host that vouched for it.
	Provider string `json:"provider"`
	// ID is the number of the account at the provider, greater than 0.
	ID int64 `json:"id"`
}

// ClaimIdentity uses up the one free grant of an identity.
type ClaimIdentity struct {
	Identity
	AccountID string
}

// IdentityClaimed says that the one free grant of an account at the provider of
// identities was used up.
type IdentityClaimed struct {
	Provider string `json:"provider"`
	// ProviderAccountID is the number of the account at the provider.
	ProviderAccountID int64     `json:"provider_account_id"`
	AccountID         string    `json:"account_id"`
	At                time.Time `json:"at"`
}

// EventType returns the stored name.
func (IdentityClaimed) EventType() string { return "identity.claimed" }

// IdentityClaim is the claim of one identity.
type IdentityClaim struct {
	// AccountID is the account that got the grant; empty while there is none.
	AccountID string `json:"account_id"`
}

// EvolveIdentityClaim folds one event into the claim.
func EvolveIdentityClaim(_ IdentityClaim, e IdentityClaimed) IdentityClaim {
	return IdentityClaim{AccountID: e.AccountID}
}

// DecideIdentityClaim claims an identity once, ever: the second time it is
// forge_account_already_used.
func DecideIdentityClaim(s IdentityClaim, c ClaimIdentity, now time.Time) ([]IdentityClaimed, error) {
	if s.AccountID != "" {
		return nil, fault.New(fault.ForgeAccountAlreadyUsed, "")
	}
	return []IdentityClaimed{{Provider: c.Provider, ProviderAccountID: c.ID, AccountID: c.AccountID, At: now}}, nil
}
