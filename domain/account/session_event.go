package account

import "time"

// SessionEvent is a fact about the session of a person.
type SessionEvent interface {
	EventType() string
	isSessionEvent()
}

// SessionOpened says that a person signed in with a browser.
type SessionOpened struct {
	SessionID string `json:"session_id"`
	AccountID string `json:"account_id"`
	// SecretHash is the SHA-256 of the secret in the cookie, in lower-case hexadecimal.
	SecretHash string `json:"secret_hash"`
	// Method is link, provider or passkey.
	Method SignInMethod `json:"method"`
	// Browser is the name of the browser and its system. Network is the beginning of the
	// client's address: the first 24 bits of IPv4 or 48 bits of IPv6. The whole address is
	// not stored.
	Browser string `json:"browser"`
	Network string `json:"network"`
	// ExpiresAt is the end of the session. Use does not extend it.
	ExpiresAt time.Time `json:"expires_at"`
	At        time.Time `json:"at"`
}

// SessionRefreshed says that the session was used, which delays its end for inactivity.
type SessionRefreshed struct {
	SessionID string    `json:"session_id"`
	AccountID string    `json:"account_id"`
	At        time.Time `json:"at"`
}

// SessionEnded says that the person signed out.
type SessionEnded struct {
	SessionID string    `json:"session_id"`
	AccountID string    `json:"account_id"`
	At        time.Time `json:"at"`
}

// SessionRevoked says that the person ended the session from another one, that an operator ended
// it, or that a sign-in exceeded MaxSessions and this session was the oldest.
type SessionRevoked struct {
	SessionID string    `json:"session_id"`
	AccountID string    `json:"account_id"`
	At        time.Time `json:"at"`
}

// EventType returns the stored name.
func (SessionOpened) EventType() string { return "session.opened" }

// EventType returns the stored name.
func (SessionRefreshed) EventType() string { return "session.refreshed" }

// EventType returns the stored name.
func (SessionEnded) EventType() string { return "session.ended" }

// EventType returns the stored name.
func (SessionRevoked) EventType() string { return "session.revoked" }

func (SessionOpened) isSessionEvent()    {}
func (SessionRefreshed) isSessionEvent() {}
func (SessionEnded) isSessionEvent()     {}
func (SessionRevoked) isSessionEvent()   {}
