package account

import "time"

// Event is a fact about an account.
type Event interface {
	EventType() string
	isEvent()
}

// Opened says that an account exists.
type Opened struct {
	AccountID string    `json:"account_id"`
	Tier      Tier      `json:"tier"`
	At        time.Time `json:"at"`
}

// KeyIssued says that an API key was issued.
type KeyIssued struct {
	AccountID string `json:"account_id"`
	KeyID     string `json:"key_id"`
	Mode      Mode   `json:"mode"`
	Tier      Tier   `json:"tier"`
	// Name is the name that the owner gave the key.
	Name string `json:"name"`
	// SecretHash is the SHA-256 of the secret in lower-case hexadecimal. The secret itself
	// is not stored.
	SecretHash string `json:"secret_hash"`
	// Hint is the last four characters of the secret.
	Hint string `json:"hint"`
	// Scopes is absent when the key has every scope.
	Scopes []string `json:"scopes,omitempty"`
	// ExpiresAt is absent when the key does not expire.
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	// IdleS is the number of seconds without use after which the key expires. It is absent
	// when the key does not expire by idleness.
	IdleS int64 `json:"idle_s,omitempty"`
	// Legacy is true for a key with the old prefix pk_.
	Legacy bool `json:"legacy,omitempty"`
	// RotatedFrom is the key that this one replaces.
	RotatedFrom string    `json:"rotated_from,omitempty"`
	At          time.Time `json:"at"`
}

// KeyReplaced says that a key was rotated. The new key takes its place, and the old one
// ends at ExpiresAt.
type KeyReplaced struct {
	AccountID string `json:"account_id"`
	KeyID     string `json:"key_id"`
	// ReplacedBy is the new key.
	ReplacedBy string `json:"replaced_by"`
	// ExpiresAt is when the old key ends.
	ExpiresAt time.Time `json:"expires_at"`
	At        time.Time `json:"at"`
}

// KeyUsed says that a key authenticated a request. It is recorded at most once an hour for
// each key.
type KeyUsed struct {
	AccountID string    `json:"account_id"`
	KeyID     string    `json:"key_id"`
	At        time.Time `json:"at"`
}

// KeyRevoked says that a key was revoked.
type KeyRevoked struct {
	AccountID string    `json:"account_id"`
	KeyID     string    `json:"key_id"`
	At        time.Time `json:"at"`
}

// Upgraded says that the plan of an account changed.
type Upgraded struct {
	AccountID string    `json:"account_id"`
	Tier      Tier      `json:"tier"`
	At        time.Time `json:"at"`
}

// Restricted says that an account was restricted. None of its keys authenticates.
type Restricted struct {
	AccountID string    `json:"account_id"`
	Reason    string    `json:"reason"`
	At        time.Time `json:"at"`
}

// Unrestricted says that the restriction of an account ended.
type Unrestricted struct {
	AccountID string    `json:"account_id"`
	Reason    string    `json:"reason"`
	At        time.Time `json:"at"`
}

// EventType returns the stored name.
func (Opened) EventType() string { return "account.opened" }

// EventType returns the stored name.
func (KeyIssued) EventType() string { return "account.key_issued" }

// EventType returns the stored name.
func (KeyRevoked) EventType() string { return "account.key_revoked" }

// EventType returns the stored name.
func (KeyReplaced) EventType() string { return "account.key_replaced" }

// EventType returns the stored name.
func (KeyUsed) EventType() string { return "account.key_used" }

// EventType returns the stored name.
func (Upgraded) EventType() string { return "account.upgraded" }

// EventType returns the stored name.
func (Restricted) EventType() string { return "account.restricted" }

// EventType returns the stored name.
func (Unrestricted) EventType() string { return "account.unrestricted" }

func (Opened) isEvent()       {}
func (KeyIssued) isEvent()    {}
func (KeyRevoked) isEvent()   {}
func (KeyReplaced) isEvent()  {}
func (KeyUsed) isEvent()      {}
func (Upgraded) isEvent()     {}
func (Restricted) isEvent()   {}
func (Unrestricted) isEvent() {}
