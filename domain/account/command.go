package account

import "time"

// Command is a request to change an account.
type Command interface{ isCommand() }

// Open creates an account.
type Open struct {
	AccountID string
	Tier      Tier
}

// IssueKey adds an API key. Only the caller knows its secret.
type IssueKey struct {
	KeyID string
	Mode  Mode
	Name  string
	// SecretHash is the lower-case hex SHA-256 of the secret.
	SecretHash string
	// Hint is the last four characters of the secret.
	Hint string
	// Scopes is nil for every scope.
	Scopes []string
	// ExpiresAt is nil for a key without a fixed end.
	ExpiresAt *time.Time
	// IdleS is the number of seconds without use after which the key expires. 0 means
	// never.
	IdleS int64
	// Legacy is true for a key that was issued before this API, with the prefix pk_.
	Legacy bool
}

// MintKey adds an API key at the request of another key of the account. The new key takes
// its mode, tier and end.
type MintKey struct {
	// By is the key that authenticated the request. It is empty when the owner is signed
	// in.
	By string
	// Mode is the mode of the request.
	Mode             Mode
	KeyID, Name      string
	SecretHash, Hint string
	// Scopes is nil to take the scopes of the key in By.
	Scopes []string
}

// RotateKey replaces a key with a new one of the same name, scopes, mode and tier.
type RotateKey struct {
	// By is the key that authenticated the request. It is empty when the owner is signed
	// in.
	By string
	// Mode is the mode of the request. A key of the other mode is not found.
	Mode Mode
	// KeyID is the old key.
	KeyID            string
	NewKeyID         string
	SecretHash, Hint string
	// RevokeOld revokes the old key at once. Otherwise it works for rotationOverlap.
	RevokeOld bool
}

// RevokeKey revokes a key at once.
type RevokeKey struct {
	KeyID string
	// Mode is the mode of the request. A key of the other mode is not found. It is empty
	// for an operator, who can revoke any key.
	Mode Mode
}

// UseKey records that a key authenticated a request.
type UseKey struct{ KeyID string }

// Upgrade moves a sandbox to the free grant.
type Upgrade struct{}

// Restrict blocks every key of an account.
type Restrict struct{ Reason string }

// Unrestrict ends a restriction.
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
