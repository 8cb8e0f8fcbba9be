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

// KeyIssued says that an API key was handed out.
type KeyIssued struct {
	AccountID string `json:"account_id"`
	KeyID     string `json:"key_id"`
	Mode      Mode   `json:"mode"`
	Tier      Tier   `json:"tier"`
	// Name is what the owner calls the key.
	Name string `json:"name"`
	// SecretHash is the SHA-256 of the secret in lower-case hexadecimal; the secret
	// itself is stored nowhere.
	SecretHash string `json:"secret_hash"`
	// Hint is the last four characters of the secret.
	Hint string `json:"hint"`
	// Scopes is absent for all scopes.
	Scopes []string `json:"scopes,omitempty"`
	// ExpiresAt is absent when the key has no end.
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	At        time.Time  `json:"at"`
}

// KeyRevoked says that a key was ended before its time.
type KeyRevoked struct {
	AccountID string    `json:"account_id"`
	KeyID     string    `json:"key_id"`
	At        time.Time `json:"at"`
}

// EventType returns the stored name.
func (Opened) EventType() string { return "account.opened" }

// EventType returns the stored name.
func (KeyIssued) EventType() string { return "account.key_issued" }

// EventType returns the stored name.
func (KeyRevoked) EventType() string { return "account.key_revoked" }

func (Opened) isEvent()     {}
func (KeyIssued) isEvent()  {}
func (KeyRevoked) isEvent() {}
