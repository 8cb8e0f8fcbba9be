package account

import (
	"fmt"
	"slices"
	"time"

	"vqa/domain/fault"
)

// MaxPasskeys is the most passkeys of one account.
const MaxPasskeys = 10

// PasskeyEvent is a fact about the passkeys of an account.
type PasskeyEvent interface {
	EventType() string
	isPasskeyEvent()
}

// PasskeyRegistered says that a signed-in person added a passkey to their account.
type PasskeyRegistered struct {
	AccountID string `json:"account_id"`
	PasskeyID string `json:"passkey_id"`
	// CredentialID is the id that the authenticator chose, and PublicKey its public key in COSE
	// form. Both are in base64url without padding.
	CredentialID string `json:"credential_id"`
	PublicKey    string `json:"public_key"`
	// SignCount is the counter of the authenticator. It is always 0 where none is kept.
	SignCount int64 `json:"sign_count"`
	// BackupEligible is true for a passkey that its owner may copy to other devices.
	BackupEligible bool `json:"backup_eligible"`
	// Browser describes the browser that registered the passkey.
	Browser string    `json:"browser"`
	At      time.Time `json:"at"`
}

// PasskeyUsed says that a person signed in with the passkey.
type PasskeyUsed struct {
	AccountID string    `json:"account_id"`
	PasskeyID string    `json:"passkey_id"`
	SignCount int64     `json:"sign_count"`
	SessionID string    `json:"session_id"`
	At        time.Time `json:"at"`
}

// PasskeyRemoved says that a person removed the passkey from their account.
type PasskeyRemoved struct {
	AccountID string    `json:"account_id"`
	PasskeyID string    `json:"passkey_id"`
	At        time.Time `json:"at"`
}

// EventType returns the stored name.
func (PasskeyRegistered) EventType() string { return "passkey.registered" }

// EventType returns the stored name.
func (PasskeyUsed) EventType() string { return "passkey.used" }

// EventType returns the stored name.
func (PasskeyRemoved) EventType() string { return "passkey.removed" }

func (PasskeyRegistered) isPasskeyEvent() {}
func (PasskeyUsed) isPasskeyEvent()       {}
func (PasskeyRemoved) isPasskeyEvent()    {}

// Passkeys are the passkeys of one account, without removed ones, in the order of their registration. The
// slice is never changed in place.
type Passkeys struct {
	Keys []Passkey `json:"keys,omitempty"`
}

// Passkey is one passkey. Its fields are those of PasskeyRegistered.
type Passkey struct {
	ID             string     `json:"id"`
	CredentialID   string     `json:"credential_id"`
	PublicKey      string     `json:"public_key"`
	SignCount      int64      `json:"sign_count"`
	BackupEligible bool       `json:"backup_eligible,omitempty"`
	Browser        string     `json:"browser"`
	RegisteredAt   time.Time  `json:"registered_at"`
	LastUsedAt     *time.Time `json:"last_used_at,omitempty"`
}

// PasskeyCommand is a request to change the passkeys of an account.
type PasskeyCommand interface{ isPasskeyCommand() }

// RegisterPasskey adds a passkey. Its fields are those of PasskeyRegistered.
type RegisterPasskey struct {
	AccountID, PasskeyID, CredentialID, PublicKey string
	SignCount                                     int64
	BackupEligible                                bool
	Browser                                       string
}

// UsePasskey records a sign-in.
type UsePasskey struct {
	AccountID, PasskeyID string
	// SignCount is the counter that the authenticator sent.
	SignCount int64
	SessionID string
}

// RemovePasskey removes a passkey.
type RemovePasskey struct{ AccountID, PasskeyID string }

func (RegisterPasskey) isPasskeyCommand() {}
func (UsePasskey) isPasskeyCommand()      {}
func (RemovePasskey) isPasskeyCommand()   {}

// Passkey returns the passkey with an id.
func (p Passkeys) Passkey(id string) (Passkey, bool) {
	i := slices.IndexFunc(p.Keys, func(k Passkey) bool { return k.ID == id })
	if i < 0 {
		return Passkey{}, false
	}
	return p.Keys[i], true
}

// EvolvePasskeys folds one event into the passkeys. It panics on an unknown event.
func EvolvePasskeys(p Passkeys, event PasskeyEvent) Passkeys {
	keys := slices.Clone(p.Keys)
	switch e := event.(type) {
	case PasskeyRegistered:
		keys = append(keys, Passkey{
			ID: e.PasskeyID, CredentialID: e.CredentialID, PublicKey: e.PublicKey, SignCount: e.SignCount,
			BackupEligible: e.BackupEligible, Browser: e.Browser, RegisteredAt: e.At,
		})
	case PasskeyUsed:
		for i := range keys {
			if keys[i].ID == e.PasskeyID {
				keys[i].SignCount, keys[i].LastUsedAt = e.SignCount, &e.At
			}
		}
	case PasskeyRemoved:
		keys = slices.DeleteFunc(keys, func(k Passkey) bool { return k.ID == e.PasskeyID })
	default:
		panic(fmt.Sprintf("account: unknown event %T", event))
	}
	return Passkeys{Keys: keys}
}

// DecidePasskeys returns the events of a command, or the fault that refuses it: resource_conflict for one
// passkey too many or a passkey that exists, resource_not_found for an unknown passkey, and
// invalid_api_key for a counter that did not grow, because the passkey may have been copied.
func DecidePasskeys(p Passkeys, command PasskeyCommand, now time.Time) ([]PasskeyEvent, error) {
	switch c := command.(type) {
	case RegisterPasskey:
		if len(p.Keys) >= MaxPasskeys {
			return nil, fault.Newf(fault.ResourceConflict, "The account has %d passkeys, the maximum. Remove one first.", MaxPasskeys)
		}
		if slices.ContainsFunc(p.Keys, func(k Passkey) bool { return k.CredentialID == c.CredentialID }) {
			return nil, fault.New(fault.ResourceConflict, "The account already has this passkey.")
		}
		return []PasskeyEvent{PasskeyRegistered{
			AccountID: c.AccountID, PasskeyID: c.PasskeyID, CredentialID: c.CredentialID, PublicKey: c.PublicKey,
			SignCount: c.SignCount, BackupEligible: c.BackupEligible, Browser: c.Browser, At: now,
		}}, nil
	case UsePasskey:
		k, known := p.Passkey(c.PasskeyID)
		if !known {
			return nil, fault.NotFound("passkey", c.PasskeyID)
		}
		if (c.SignCount > 0 || k.SignCount > 0) && c.SignCount <= k.SignCount {
			return nil, fault.New(fault.InvalidAPIKey, "The counter of this passkey did not grow, so it may have been copied. Sign in another way and remove it.")
		}
		return []PasskeyEvent{PasskeyUsed{
			AccountID: c.AccountID, PasskeyID: c.PasskeyID, SignCount: c.SignCount, SessionID: c.SessionID, At: now,
		}}, nil
	case RemovePasskey:
		if _, known := p.Passkey(c.PasskeyID); !known {
			return nil, fault.NotFound("passkey", c.PasskeyID)
		}
		return []PasskeyEvent{PasskeyRemoved{AccountID: c.AccountID, PasskeyID: c.PasskeyID, At: now}}, nil
	default:
		panic(fmt.Sprintf("account: unknown command %T", command))
	}
}
