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
}

// RevokeKey ends a key at once.
type RevokeKey struct{ KeyID string }

func (Open) isCommand()      {}
func (IssueKey) isCommand()  {}
func (RevokeKey) isCommand() {}
