package account

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"time"

	"github.com/oklog/ulid/v2"

	"vqa/domain/id"
)

// The life of a session of a person.
const (
	// SessionIdle is how long a session lasts after its last use.
	SessionIdle = 7 * 24 * time.Hour
	// SessionLife is the longest life of a session. Use does not extend it.
	SessionLife = 30 * 24 * time.Hour
	// MaxSessions is the most sessions of an account. The next sign-in ends the oldest one.
	MaxSessions = 50
	// sessionUseEvery is the precision of the last use. More frequent uses are not recorded.
	sessionUseEvery = 15 * time.Minute
)

// SignInMethod is how a person proved who they are.
type SignInMethod string

// The methods.
const (
	// ByLink is the one-time link of the operator.
	ByLink SignInMethod = "link"
	// ByProvider is the configured OpenID provider.
	ByProvider SignInMethod = "provider"
	// ByPasskey is a passkey that was registered in an earlier session.
	ByPasskey SignInMethod = "passkey"
)

// Session is the signed-in state of a person in one browser. The browser has a secret in a
// cookie. The zero Session does not exist.
type Session struct {
	ID        string `json:"id"`
	AccountID string `json:"account_id"`
	// SecretHash is the hash of the secret in the cookie (HashSecret).
	SecretHash string       `json:"secret_hash"`
	Method     SignInMethod `json:"method"`
	// Browser describes the browser, for example "Firefox on Linux". Network is the beginning
	// of the client's address. Both are for the list of sessions and decide nothing.
	Browser  string    `json:"browser"`
	Network  string    `json:"network"`
	OpenedAt time.Time `json:"opened_at"`
	// LastUsedAt is exact to 15 minutes.
	LastUsedAt time.Time `json:"last_used_at"`
	// ExpiresAt is the end of the session. Use does not extend it.
	ExpiresAt time.Time `json:"expires_at"`
	// EndedAt is set when the person signed out or the session was revoked.
	EndedAt *time.Time `json:"ended_at,omitempty"`
	Revoked bool       `json:"revoked,omitempty"`
}

// Exists is true once the session was opened.
func (s Session) Exists() bool { return s.ID != "" }

// End returns when the session ends if it is not used again.
func (s Session) End() time.Time {
	idle := s.LastUsedAt.Add(SessionIdle)
	switch {
	case s.EndedAt != nil:
		return *s.EndedAt
	case idle.Before(s.ExpiresAt):
		return idle
	default:
		return s.ExpiresAt
	}
}

// Active reports whether the session signs a person in.
func (s Session) Active(now time.Time) bool {
	return s.Exists() && s.EndedAt == nil && now.Before(s.End())
}

// NeedsUse reports whether a use now would be recorded.
func (s Session) NeedsUse(now time.Time) bool {
	return s.Active(now) && now.Sub(s.LastUsedAt) >= sessionUseEvery
}

// NewSessionSecret returns the secret of a session or of a sign-in link: 32 bytes of entropy.
func NewSessionSecret(entropy io.Reader) (string, error) {
	raw := make([]byte, secretBytes)
	if _, err := io.ReadFull(entropy, raw); err != nil {
		return "", fmt.Errorf("read entropy for the secret of a session: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

// SessionIDFor returns the id of the one session that a proof may open: a challenge, or the state of a
// redirect. A second use of the proof finds that the session exists and is refused.
func SessionIDFor(proof string) string {
	digest := sha256.Sum256([]byte("session of " + proof))
	return string(id.Session) + "_" + ulid.ULID(digest[:16]).String()
}

// EvolveSession folds one event into the state. It panics on an unknown event.
func EvolveSession(s Session, event SessionEvent) Session {
	switch e := event.(type) {
	case SessionOpened:
		return Session{
			ID: e.SessionID, AccountID: e.AccountID, SecretHash: e.SecretHash, Method: e.Method, Browser: e.Browser,
			Network: e.Network, OpenedAt: e.At, LastUsedAt: e.At, ExpiresAt: e.ExpiresAt,
		}
	case SessionRefreshed:
		s.LastUsedAt = e.At
	case SessionEnded:
		s.EndedAt = &e.At
	case SessionRevoked:
		s.EndedAt, s.Revoked = &e.At, true
	default:
		panic(fmt.Sprintf("account: unknown event %T", event))
	}
	return s
}
