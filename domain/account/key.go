package account

import (
	"fmt"
	"time"

	"vqa/domain/fault"
)

// The lives of keys (api-v1.md, "Limits").
const (
	// TestKeyLife is how long a test key opens the door.
	TestKeyLife = 7 * 24 * time.Hour
	// UpgradedKeyIdle is how long an upgraded key lives without use.
	UpgradedKeyIdle = 30 * 24 * time.Hour
	// RotationOverlap is how long a rotated key goes on working beside the new one
	// (open-points.md, "Keys, scopes, tokens").
	RotationOverlap = 24 * time.Hour
	// UseEvery is how often the use of a key is recorded at most.
	UseEvery = time.Hour
)

// Key is one API key, without its secret.
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
	// ExpiresAt moves with the recorded uses of a key that has IdleS; see End.
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	IdleS     int64      `json:"idle_s,omitempty"`
	// LastUsedAt is the last recorded use, which may be up to UseEvery old.
	LastUsedAt *time.Time `json:"last_used_at,omitempty"`
	// RotatedFrom and ReplacedBy are the keys before and after this one.
	RotatedFrom string     `json:"rotated_from,omitempty"`
	ReplacedBy  string     `json:"replaced_by,omitempty"`
	RevokedAt   *time.Time `json:"revoked_at,omitempty"`
	// RestrictedAt is that of the account.
	RestrictedAt *time.Time `json:"restricted_at,omitempty"`
}

// Livemode is true for a key that runs real inference and is billed.
func (k Key) Livemode() bool { return k.Mode == Live }

// Ended refuses a key that is over for good: key_revoked or key_expired.
func (k Key) Ended(now time.Time) error {
	if k.RevokedAt != nil && !now.Before(*k.RevokedAt) {
		return fault.New(fault.KeyRevoked, "")
	}
	if end := k.End(); end != nil && !now.Before(*end) {
		return fault.New(fault.KeyExpired, "")
	}
	return nil
}

// End is when the key ends unless it is used again, or nil. The last use of an idle key may be up
// to UseEvery later than the last recorded one, so that much is added: the key lives IdleS in full
// (api-v1.md, "Limits").
func (k Key) End() *time.Time {
	if k.ExpiresAt == nil || k.IdleS == 0 || k.LastUsedAt == nil || k.ReplacedBy != "" {
		return k.ExpiresAt
	}
	end := k.ExpiresAt.Add(UseEvery)
	return &end
}

// Check refuses a key that does not open the door now: key_revoked, key_expired, or
// account_restricted.
func (k Key) Check(now time.Time) error {
	if err := k.Ended(now); err != nil {
		return err
	}
	if k.RestrictedAt != nil {
		return fault.New(fault.AccountRestricted, "")
	}
	return nil
}

// UseDue reports whether a use of the key is to be recorded: at most once in UseEvery.
func (k Key) UseDue(now time.Time) bool {
	return k.LastUsedAt == nil || now.Sub(*k.LastUsedAt) >= UseEvery
}

// EvolveKey folds an event into the one key that it names.
func EvolveKey(k Key, event Event) Key {
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

// idleEnd is when a key ends that is not used again.
func idleEnd(idleS int64, used time.Time) *time.Time {
	end := used.Add(time.Duration(idleS) * time.Second)
	return &end
}

// LegacyWindow is how long keys with the old prefix are good (api-v1.md,
// "Authentication", 2).
type LegacyWindow struct {
	// AnnouncedAt is when general availability was announced; zero while it is not, and
	// then the window has no end yet.
	AnnouncedAt time.Time
}

// legacyMonths is the length of the window after the announcement.
const legacyMonths = 12

// End is when the window closes; false while that is not known.
func (w LegacyWindow) End() (time.Time, bool) {
	return w.AnnouncedAt.AddDate(0, legacyMonths, 0), !w.AnnouncedAt.IsZero()
}

// Check refuses a legacy key whose window is over with invalid_api_key.
func (w LegacyWindow) Check(k Key, now time.Time) error {
	if end, known := w.End(); k.Legacy && known && !now.Before(end) {
		return fault.New(fault.InvalidAPIKey, "")
	}
	return nil
}
