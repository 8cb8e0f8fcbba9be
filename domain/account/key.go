package account

import (
	"fmt"
	"time"

	"vqa/domain/fault"
)

// The lives of keys (docs/contract.md#api-keys).
const (
	// TestKeyLife is how long a test key authenticates.
	TestKeyLife = 7 * 24 * time.Hour
	// UpgradedKeyIdle is how long the key of an upgraded account can stay unused before it
	// expires.
	UpgradedKeyIdle = 30 * 24 * time.Hour
	// rotationOverlap is how long the old key of a rotation works beside the new one
	// (docs/contract.md#api-keys).
	rotationOverlap = 24 * time.Hour
	// UseEvery is the minimum time between two recorded uses of a key.
	UseEvery = time.Hour
)

// Key is an API key without its secret.
type Key struct {
	ID         string   `json:"id"`
	AccountID  string   `json:"account_id"`
	Mode       Mode     `json:"mode"`
	Tier       Tier     `json:"tier"`
	Name       string   `json:"name"`
	SecretHash string   `json:"secret_hash"`
	Hint       string   `json:"hint"`
	Scopes     []string `json:"scopes,omitempty"`
	// Legacy is true for a key with the old prefix.
	Legacy   bool      `json:"legacy,omitempty"`
	IssuedAt time.Time `json:"issued_at"`
	// ExpiresAt moves with each recorded use of a key that has IdleS. See End.
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	IdleS     int64      `json:"idle_s,omitempty"`
	// LastUsedAt is the last recorded use. The real last use may be up to UseEvery later.
	LastUsedAt *time.Time `json:"last_used_at,omitempty"`
	// RotatedFrom and ReplacedBy are the keys before and after this one.
	RotatedFrom string     `json:"rotated_from,omitempty"`
	ReplacedBy  string     `json:"replaced_by,omitempty"`
	RevokedAt   *time.Time `json:"revoked_at,omitempty"`
	// RestrictedAt is the RestrictedAt of the account.
	RestrictedAt *time.Time `json:"restricted_at,omitempty"`
}

// Livemode is true for a key that runs real inference and is billed.
func (k Key) Livemode() bool { return k.Mode == Live }

// Ended returns key_revoked or key_expired for a key that can never authenticate again.
func (k Key) Ended(now time.Time) error {
	// RevokedAt is not compared with now: another node wrote it, and the clocks of two nodes differ by
	// some milliseconds. The event itself ends the key.
	if k.RevokedAt != nil {
		return fault.New(fault.KeyRevoked, "")
	}
	if end := k.End(); end != nil && !now.Before(*end) {
		return fault.New(fault.KeyExpired, "")
	}
	return nil
}

// End returns when the key ends unless it is used again, or nil when it has no end. The
// real last use of a key with IdleS may be up to UseEvery after the recorded one. End adds
// that time, so that the key lives IdleS in full (docs/contract.md#api-keys).
func (k Key) End() *time.Time {
	if k.ExpiresAt == nil || k.IdleS == 0 || k.LastUsedAt == nil || k.ReplacedBy != "" {
		return k.ExpiresAt
	}
	end := k.ExpiresAt.Add(UseEvery)
	return &end
}

// Check returns the fault of a key that cannot authenticate now: key_revoked, key_expired
// or account_restricted.
func (k Key) Check(now time.Time) error {
	if err := k.Ended(now); err != nil {
		return err
	}
	if k.RestrictedAt != nil {
		return fault.New(fault.AccountRestricted, "")
	}
	return nil
}

// UseDue reports whether a use of the key must be recorded, at most once in UseEvery.
func (k Key) UseDue(now time.Time) bool {
	return k.LastUsedAt == nil || now.Sub(*k.LastUsedAt) >= UseEvery
}

// evolveKey folds an event into the one key that it names.
func evolveKey(k Key, event Event) Key {
	switch e := event.(type) {
	case KeyIssued:
		return Key{
			ID: e.KeyID, AccountID: e.AccountID, Mode: e.Mode, Tier: e.Tier, Name: e.Name, SecretHash: e.SecretHash,
			Hint: e.Hint, Scopes: e.Scopes, Legacy: e.Legacy, IssuedAt: e.At, ExpiresAt: e.ExpiresAt, IdleS: e.IdleS,
			RotatedFrom: e.RotatedFrom,
		}
	case KeyRevoked:
		k.RevokedAt = &e.At
	case KeyReplaced:
		k.ReplacedBy, k.ExpiresAt = e.ReplacedBy, &e.ExpiresAt
	case KeyUsed:
		k.LastUsedAt = &e.At
		if k.IdleS > 0 && k.ReplacedBy == "" {
			k.ExpiresAt = idleEnd(k.IdleS, e.At)
		}
	default:
		panic(fmt.Sprintf("account: event %T is not about a key", event))
	}
	return k
}

// idleEnd returns when a key ends that was last used at the given time.
func idleEnd(idleS int64, used time.Time) *time.Time {
	end := used.Add(time.Duration(idleS) * time.Second)
	return &end
}

// LegacyWindow is the time in which keys with the old prefix work
// (docs/contract.md#legacy-keys).
type LegacyWindow struct {
	// AnnouncedAt is when general availability was announced. It is zero before the
	// announcement; the window then has no end.
	AnnouncedAt time.Time
}

// legacyMonths is the length of the window after the announcement.
const legacyMonths = 12

// End returns when the window closes, and false when that is not known yet.
func (w LegacyWindow) End() (time.Time, bool) {
	return w.AnnouncedAt.AddDate(0, legacyMonths, 0), !w.AnnouncedAt.IsZero()
}

// Check returns invalid_api_key for a legacy key after the window.
func (w LegacyWindow) Check(k Key, now time.Time) error {
	if end, known := w.End(); k.Legacy && known && !now.Before(end) {
		return fault.New(fault.InvalidAPIKey, "")
	}
	return nil
}
