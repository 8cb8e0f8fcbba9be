package account

import (
	"fmt"
	"time"

	"vqa/domain/fault"
)

// SignInLinkLife is how long a one-time link signs the operator in.
const SignInLinkLife = 10 * time.Minute

// SignInLinkEvent is a fact about a one-time link.
type SignInLinkEvent interface {
	EventType() string
	isSignInLinkEvent()
}

// SignInLinkCreated says that the operator of this machine asked for a link.
type SignInLinkCreated struct {
	// Hash is the SHA-256 of the secret in the link, in lower-case hexadecimal.
	Hash      string    `json:"hash"`
	ExpiresAt time.Time `json:"expires_at"`
	At        time.Time `json:"at"`
}

// SignInLinkUsed says that the link opened a session. The same append opens it.
type SignInLinkUsed struct {
	Hash      string    `json:"hash"`
	SessionID string    `json:"session_id"`
	At        time.Time `json:"at"`
}

// EventType returns the stored name.
func (SignInLinkCreated) EventType() string { return "signin_link.created" }

// EventType returns the stored name.
func (SignInLinkUsed) EventType() string { return "signin_link.used" }

func (SignInLinkCreated) isSignInLinkEvent() {}
func (SignInLinkUsed) isSignInLinkEvent()    {}

// SignInLink is a one-time link. The zero SignInLink does not exist.
type SignInLink struct {
	Hash      string     `json:"hash"`
	ExpiresAt time.Time  `json:"expires_at"`
	UsedAt    *time.Time `json:"used_at,omitempty"`
}

// SignInLinkCommand is a request to change a link.
type SignInLinkCommand interface{ isSignInLinkCommand() }

// CreateSignInLink creates a link.
type CreateSignInLink struct{ Hash string }

// UseSignInLink opens a session.
type UseSignInLink struct{ SessionID string }

func (CreateSignInLink) isSignInLinkCommand() {}
func (UseSignInLink) isSignInLinkCommand()    {}

// EvolveSignInLink folds one event into the state. It panics on an unknown event.
func EvolveSignInLink(l SignInLink, event SignInLinkEvent) SignInLink {
	switch e := event.(type) {
	case SignInLinkCreated:
		return SignInLink{Hash: e.Hash, ExpiresAt: e.ExpiresAt}
	case SignInLinkUsed:
		l.UsedAt = &e.At
	default:
		panic(fmt.Sprintf("account: unknown event %T", event))
	}
	return l
}

// DecideSignInLink returns the events of a command. Errors: resource_conflict for a link that exists, and
// invalid_api_key for one that cannot sign in. The message is the same for an unknown, a used and an
// expired link.
func DecideSignInLink(l SignInLink, command SignInLinkCommand, now time.Time) ([]SignInLinkEvent, error) {
	switch c := command.(type) {
	case CreateSignInLink:
		if l.Hash != "" {
			return nil, fault.New(fault.ResourceConflict, "The sign-in link already exists.")
		}
		return []SignInLinkEvent{SignInLinkCreated{Hash: c.Hash, ExpiresAt: now.Add(SignInLinkLife), At: now}}, nil
	case UseSignInLink:
		if l.Hash == "" || l.UsedAt != nil || !now.Before(l.ExpiresAt) {
			return nil, fault.New(fault.InvalidAPIKey, "This link is not valid: it was used, has expired or belongs to another installation.")
		}
		return []SignInLinkEvent{SignInLinkUsed{Hash: l.Hash, SessionID: c.SessionID, At: now}}, nil
	default:
		panic(fmt.Sprintf("account: unknown command %T", command))
	}
}
