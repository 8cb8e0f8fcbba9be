package account

import "time"

// Command is a request to change an account.
type Command interface{ isCommand() }

// Open makes an account.
type Open struct {
	AccountID string
	Tier      Tier
}

// IssueKey adds an API key whose secret only the caller knows.
type IssueKey struct {
	KeyID string
	Mode  Mode
	Name  string
	// SecretHash is the lower-case hex SHA-256 of the secret.
	SecretHash string
	// Hint is the last four characters of the secret.
	Hint string
	// Scopes is nil for all scopes.
	Scopes []string
	// ExpiresAt is nil for a key that does not expire.
	ExpiresAt *time.Time
	// IdleS is how many seconds without use end the key; 0 for no such end.
	IdleS int64
	// Legacy is true for a key of the form that was handed out before this API.
	Legacy bool
}

// MintKey adds an API key by order of another key of the account, whose mode, tier and
// end it takes over.
type MintKey struct {
	// By is the key that orders it; empty for the owner in person.
	By string
	// Mode is that of the order.
	Mode             Mode
	KeyID, Name      string
	SecretHash, Hint string
	// Scopes is nil for those of the ordering key.
	Scopes []string
}

// RotateKey replaces a key by a new one with the same name, scopes, mode and tier.
type RotateKey struct {
	// By is the key that orders it; empty for the owner in person.
	By string
	// Mode is that of the order: a key of the other mode is not found.
	Mode Mode
	// KeyID is the old key.
	KeyID            string
	NewKeyID         string
	SecretHash, Hint string
	// RevokeOld ends the old key at once instead of RotationOverlap later.
	RevokeOld bool
}

// RevokeKey ends a key at once.
type RevokeKey struct {
	KeyID string
	// Mode is that of the order: a key of the other mode is not found. Empty for an
	// operator, who may end any key.
	Mode Mode
}

// UseKey says that a key opened the door.
type UseKey struct{ KeyID string }

// Upgrade lifts a sandbox to the free grant.
type Upgrade struct{}

// Restrict shuts an account out.
type Restrict struct{ Reason string }

// Unrestrict lets a restricted account in again.
type Unrestrict struct{ Reason string }

func (Open) isCommand()       {}
func (IssueKey) isCommand()   {}
func (MintKey) isCommand()    {}
func (RotateKey) isCommand()  {}
func (RevokeKey) isCommand()  {}
func (UseKey) isCommand()     {}
func (Upgrade) isCommand()    {}
func (Restrict) isCommand()   {}
func (Unrestrict) isCommand() {}
