package account

import (
	"fmt"
	"maps"
	"time"
)

// Mode is live or test. Only a live key runs real inference and is billed.
type Mode string

// The modes of keys (docs/contract.md#modes).
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
	// Owner is empty for an account without a signed-in owner. See OwnerHash.
	Owner string `json:"owner,omitempty"`
	// Email is the address with which the owner last signed in, or empty. It gets notices about webhook endpoints.
	Email string `json:"email,omitempty"`
	// RestrictedAt is nil unless the account is restricted.
	RestrictedAt *time.Time `json:"restricted_at,omitempty"`
	// Keys by id. The map is never changed in place.
	Keys map[string]Key `json:"keys,omitempty"`
}

// Exists is true once the account was opened.
func (s State) Exists() bool { return s.ID != "" }

// Evolve folds one event into the state. It panics on an unknown event.
func Evolve(s State, event Event) State {
	switch e := event.(type) {
	case Opened:
		s.ID, s.Tier, s.OpenedAt = e.AccountID, e.Tier, e.At
	case SignedUp:
		s.Owner = e.Owner
	case EmailStated:
		s.Email = e.Email
	case Upgraded:
		s.Tier = e.Tier
	case Restricted:
		return s.restricted(&e.At)
	case Unrestricted:
		return s.restricted(nil)
	case KeyIssued:
		k := evolveKey(Key{}, e)
		k.RestrictedAt = s.RestrictedAt
		s.Keys = withKey(s.Keys, k)
	case KeyRevoked:
		s.Keys = withKey(s.Keys, evolveKey(s.Keys[e.KeyID], e))
	case KeyReplaced:
		s.Keys = withKey(s.Keys, evolveKey(s.Keys[e.KeyID], e))
	case KeyUsed:
		s.Keys = withKey(s.Keys, evolveKey(s.Keys[e.KeyID], e))
	default:
		panic(fmt.Sprintf("account: unknown event %T", event))
	}
	return s
}

// restricted copies the restriction to every key, so that authentication reads the key
// alone.
func (s State) restricted(at *time.Time) State {
	s.RestrictedAt = at
	keys := make(map[string]Key, len(s.Keys))
	for id, k := range s.Keys {
		k.RestrictedAt = at
		keys[id] = k
	}
	s.Keys = keys
	return s
}

func withKey(keys map[string]Key, k Key) map[string]Key {
	next := make(map[string]Key, len(keys)+1)
	maps.Copy(next, keys)
	next[k.ID] = k
	return next
}
