package account

import (
	"fmt"
	"maps"
	"time"

	"vqa/domain/fault"
)

// Mode says whether a key moves the real world.
type Mode string

// The modes of keys (api-v1.md, "Mode rules").
const (
	Live Mode = "live"
	Test Mode = "test"
)

// Tier is the plan of an account.
type Tier string

// The tiers.
const (
	Sandbox   Tier = "sandbox"
	FreeGrant Tier = "free_grant"
	Paid      Tier = "paid"
)

// State is one account and its keys.
type State struct {
	ID       string    `json:"id"`
	Tier     Tier      `json:"tier"`
	OpenedAt time.Time `json:"opened_at"`
	// Keys by id. It is never changed in place.
	Keys map[string]Key `json:"keys,omitempty"`
}

// Key is one API key, without its secret.
type Key struct {
	ID         string     `json:"id"`
	AccountID  string     `json:"account_id"`
	Mode       Mode       `json:"mode"`
	Tier       Tier       `json:"tier"`
	Name       string     `json:"name"`
	SecretHash string     `json:"secret_hash"`
	Hint       string     `json:"hint"`
	Scopes     []string   `json:"scopes,omitempty"`
	IssuedAt   time.Time  `json:"issued_at"`
	ExpiresAt  *time.Time `json:"expires_at,omitempty"`
	RevokedAt  *time.Time `json:"revoked_at,omitempty"`
}

// Livemode is true for a key that runs real inference and is billed.
func (k Key) Livemode() bool { return k.Mode == Live }

// Check refuses a key that no longer opens the door: key_revoked or key_expired.
func (k Key) Check(now time.Time) error {
	if k.RevokedAt != nil && !now.Before(*k.RevokedAt) {
		return fault.New(fault.KeyRevoked, "")
	}
	if k.ExpiresAt != nil && !now.Before(*k.ExpiresAt) {
		return fault.New(fault.KeyExpired, "")
	}
	return nil
}

// Exists is true once the account was opened.
func (s State) Exists() bool { return s.ID != "" }

// Evolve folds one event into the state; it panics on an unknown one.
func Evolve(s State, event Event) State {
	switch e := event.(type) {
	case Opened:
		s.ID, s.Tier, s.OpenedAt = e.AccountID, e.Tier, e.At
	case KeyIssued:
		s.Keys = withKey(s.Keys, EvolveKey(Key{}, e))
	case KeyRevoked:
		s.Keys = withKey(s.Keys, EvolveKey(s.Keys[e.KeyID], e))
	default:
		panic(fmt.Sprintf("account: unknown event %T", event))
	}
	return s
}

// EvolveKey folds an event into the one key that it names.
func EvolveKey(k Key, event Event) Key {
	switch e := event.(type) {
	case KeyIssued:
		return Key{
			ID: e.KeyID, AccountID: e.AccountID, Mode: e.Mode, Tier: e.Tier, Name: e.Name, SecretHash: e.SecretHash,
			Hint: e.Hint, Scopes: e.Scopes, IssuedAt: e.At, ExpiresAt: e.ExpiresAt,
		}
	case KeyRevoked:
		k.RevokedAt = &e.At
		return k
	default:
		panic(fmt.Sprintf("account: event %T is not about a key", event))
	}
}

func withKey(keys map[string]Key, k Key) map[string]Key {
	next := make(map[string]Key, len(keys)+1)
	maps.Copy(next, keys)
	next[k.ID] = k
	return next
}
