package grant

import (
	"fmt"
	"slices"
	"time"

	"vqa/domain/fault"
)

// Status is the progress of a grant. There is no expired status because expiry follows from the time.
type Status string

// The statuses of a grant.
const (
	// StatusApproved is a grant with a code that was not exchanged.
	StatusApproved Status = "approved"
	StatusActive   Status = "active"
	StatusDenied   Status = "denied"
	StatusRevoked  Status = "revoked"
)

// Reason is why a grant was revoked.
type Reason string

// The reasons.
const (
	ByPerson   Reason = "person"
	ByClient   Reason = "client"
	ByOperator Reason = "operator"
	// CodeReplayed and RefreshReused mean that a secret was presented a second time, so it may be stolen.
	CodeReplayed  Reason = "code_replayed"
	RefreshReused Reason = "refresh_reused"
)

// State is one grant. The zero State is a grant that was not decided.
type State struct {
	ID          string `json:"id"`
	AccountID   string `json:"account_id"`
	Livemode    bool   `json:"livemode"`
	ClientID    string `json:"client_id"`
	ClientName  string `json:"client_name,omitempty"`
	RedirectURI string `json:"redirect_uri"`
	Resource    string `json:"resource,omitempty"`
	Scope       string `json:"scope,omitempty"`
	// LimitSeconds is the most credit-seconds that the client may spend, or 0.
	LimitSeconds int64  `json:"limit_seconds,omitempty"`
	Status       Status `json:"status"`
	// Code is the authorization code, and Challenge proves who may exchange it.
	Code      Token  `json:"code,omitzero"`
	Challenge string `json:"challenge,omitempty"`
	// FamilyHash is the hash of the part that all refresh tokens share.
	FamilyHash string `json:"family_hash,omitempty"`
	// Access are the newest access tokens, at most maxAccess.
	Access []Token `json:"access,omitempty"`
	// Refresh are the refresh tokens that still work, at most maxRefresh. The slices are never changed
	// in place.
	Refresh []RefreshToken `json:"refresh,omitempty"`
	// DecidedAt is the time of the approval or denial, and UsedAt that of the last exchange.
	DecidedAt time.Time `json:"decided_at"`
	UsedAt    time.Time `json:"used_at,omitzero"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
	Reason    Reason    `json:"reason,omitempty"`
}

// RefreshToken is a refresh token of a grant.
type RefreshToken struct {
	Token
	// RotatedAt is when the token was exchanged. It works for RotationGrace after that.
	RotatedAt time.Time `json:"rotated_at,omitzero"`
}

// Exists is true once a person decided.
func (s State) Exists() bool { return s.ID != "" }

// Open reports whether tokens of the grant can work.
func (s State) Open(now time.Time) bool {
	return (s.Status == StatusApproved || s.Status == StatusActive) && now.Before(s.ExpiresAt)
}

// Check returns nil if an access token of the grant with this hash works for a resource. Errors:
// invalid_api_key for another token or resource, key_revoked for a revoked grant, token_expired.
func (s State) Check(accessHash, resource string, now time.Time) error {
	switch {
	case s.Status == StatusRevoked:
		return fault.New(fault.KeyRevoked, "The permission of this agent was revoked. Authorize it again.")
	case s.Resource != resource:
		return fault.New(fault.InvalidAPIKey, "This access token is for another resource.")
	}
	i := slices.IndexFunc(s.Access, func(t Token) bool { return same(t.Hash, accessHash) })
	switch {
	case i < 0 && s.Status == StatusActive:
		// A token that left the list has expired, or never existed. Neither works.
		return fault.New(fault.InvalidAPIKey, "The access token has expired or is unknown. Refresh it.")
	case i < 0:
		return fault.New(fault.InvalidAPIKey, "")
	case !s.Open(now) || !now.Before(s.Access[i].ExpiresAt):
		return fault.New(fault.TokenExpired, "The access token has expired. Refresh it.")
	}
	return nil
}

// Holds reports whether a token was issued for the grant. Any refresh token of the grant counts, also one that was
// exchanged.
func (s State) Holds(kind Kind, token string) bool {
	switch kind {
	case AccessToken:
		return slices.ContainsFunc(s.Access, func(t Token) bool { return same(t.Hash, Hash(token)) })
	case RefreshSecret:
		return same(s.FamilyHash, Hash(Family(token)))
	default:
		return false
	}
}

// Evolve folds one event into the state. It panics on an unknown event.
func Evolve(s State, event Event) State {
	switch e := event.(type) {
	case Approved:
		return State{
			ID: e.GrantID, AccountID: e.AccountID, Livemode: e.Livemode, ClientID: e.ClientID, ClientName: e.ClientName,
			RedirectURI: e.RedirectURI, Resource: e.Resource, Scope: e.Scope, LimitSeconds: e.LimitSeconds,
			Status: StatusApproved, Code: e.Code, Challenge: e.Challenge, DecidedAt: e.At, ExpiresAt: e.ExpiresAt,
		}
	case Denied:
		return State{
			ID: e.GrantID, AccountID: e.AccountID, Livemode: e.Livemode, ClientID: e.ClientID, ClientName: e.ClientName,
			RedirectURI: e.RedirectURI, Status: StatusDenied, DecidedAt: e.At,
		}
	case Redeemed:
		s.Status, s.FamilyHash, s.UsedAt = StatusActive, e.FamilyHash, e.At
		s.Access, s.Refresh = []Token{e.Access}, []RefreshToken{{Token: e.Refresh}}
	case Refreshed:
		s = s.rotate(e)
	case Revoked:
		s.Status, s.Reason, s.RevokedAt = StatusRevoked, e.Reason, e.At
		s.Access, s.Refresh = nil, nil
	default:
		panic(fmt.Sprintf("grant: unknown event %T", event))
	}
	return s
}

// rotate adds the new tokens and drops those that no longer work.
func (s State) rotate(e Refreshed) State {
	s.UsedAt = e.At
	access := slices.DeleteFunc(slices.Clone(s.Access), func(t Token) bool { return !e.At.Before(t.ExpiresAt) })
	s.Access = newest(append(access, e.Access), maxAccess)
	var refresh []RefreshToken
	for _, t := range s.Refresh {
		if t.Hash == e.UsedHash && t.RotatedAt.IsZero() {
			t.RotatedAt = e.At
		}
		if t.works(e.At) {
			refresh = append(refresh, t)
		}
	}
	refresh = append(refresh, RefreshToken{Token: e.Refresh})
	for len(refresh) > maxRefresh {
		// A session still holds each token that was not exchanged.
		exchanged := slices.IndexFunc(refresh, func(t RefreshToken) bool { return !t.RotatedAt.IsZero() })
		refresh = slices.Delete(refresh, max(0, exchanged), max(0, exchanged)+1)
	}
	s.Refresh = refresh
	return s
}

// works reports whether a refresh token can be exchanged.
func (t RefreshToken) works(now time.Time) bool {
	return now.Before(t.ExpiresAt) && (t.RotatedAt.IsZero() || now.Sub(t.RotatedAt) <= RotationGrace)
}

// newest returns the last n elements.
func newest[T any](all []T, n int) []T { return all[max(0, len(all)-n):] }

// Client is a registered client. A client with a metadata document is not registered.
type Client struct {
	ID              string   `json:"id"`
	Name            string   `json:"name,omitempty"`
	RedirectURIs    []string `json:"redirect_uris"`
	ApplicationType string   `json:"application_type,omitempty"`
	AddressHash     string   `json:"address_hash"`
	// Approved is true once a person approved the client.
	Approved     bool      `json:"approved,omitempty"`
	RegisteredAt time.Time `json:"registered_at"`
	ExpiresAt    time.Time `json:"expires_at"`
}

// Exists is true once the client is registered.
func (c Client) Exists() bool { return c.ID != "" }

// Expired reports whether the client was not used for too long.
func (c Client) Expired(now time.Time) bool { return !now.Before(c.ExpiresAt) }

// EvolveClient folds one event into the state. It panics on an unknown event.
func EvolveClient(c Client, event ClientEvent) Client {
	switch e := event.(type) {
	case Registered:
		return Client{
			ID: e.ClientID, Name: e.Name, RedirectURIs: e.RedirectURIs, ApplicationType: e.ApplicationType,
			AddressHash: e.AddressHash, RegisteredAt: e.At, ExpiresAt: e.ExpiresAt,
		}
	case Kept:
		c.Approved, c.ExpiresAt = true, e.ExpiresAt
	default:
		panic(fmt.Sprintf("grant: unknown event %T", event))
	}
	return c
}
