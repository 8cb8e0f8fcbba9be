package account

import (
	"fmt"
	"time"

	"vqa/domain/fault"
)

// SessionCommand is a request to change a session.
type SessionCommand interface{ isSessionCommand() }

// OpenSession signs a person in.
type OpenSession struct {
	SessionID, AccountID string
	// SecretHash is the hash of the secret in the cookie (HashSecret).
	SecretHash string
	Method     SignInMethod
	// Browser and Network describe the client; see SessionOpened.
	Browser, Network string
}

// RefreshSession records a use.
type RefreshSession struct{}

// EndSession signs the person out.
type EndSession struct{}

// RevokeSession ends a session of the account from elsewhere. An operator leaves AccountID empty.
type RevokeSession struct{ AccountID string }

func (OpenSession) isSessionCommand()    {}
func (RefreshSession) isSessionCommand() {}
func (EndSession) isSessionCommand()     {}
func (RevokeSession) isSessionCommand()  {}

// DecideSession returns the events of a command, or the fault that refuses it: resource_not_found for a
// session that does not exist or belongs to another account, resource_conflict for one that exists.
func DecideSession(s Session, command SessionCommand, now time.Time) ([]SessionEvent, error) {
	if c, opening := command.(OpenSession); opening {
		if s.Exists() {
			return nil, fault.New(fault.ResourceConflict, "This sign-in was already completed. Start again.")
		}
		return []SessionEvent{SessionOpened{
			SessionID: c.SessionID, AccountID: c.AccountID, SecretHash: c.SecretHash, Method: c.Method,
			Browser: c.Browser, Network: c.Network, ExpiresAt: now.Add(SessionLife), At: now,
		}}, nil
	}
	if !s.Exists() {
		return nil, fault.NotFound("session", "")
	}
	switch c := command.(type) {
	case RefreshSession:
		if !s.NeedsUse(now) {
			return nil, nil
		}
		return []SessionEvent{SessionRefreshed{SessionID: s.ID, AccountID: s.AccountID, At: now}}, nil
	case EndSession:
		if !s.Active(now) {
			return nil, nil
		}
		return []SessionEvent{SessionEnded{SessionID: s.ID, AccountID: s.AccountID, At: now}}, nil
	case RevokeSession:
		if c.AccountID != "" && c.AccountID != s.AccountID {
			return nil, fault.NotFound("session", s.ID)
		}
		if !s.Active(now) {
			return nil, nil
		}
		return []SessionEvent{SessionRevoked{SessionID: s.ID, AccountID: s.AccountID, At: now}}, nil
	default:
		panic(fmt.Sprintf("account: unknown command %T", command))
	}
}
