package grant

import (
	"fmt"
	"slices"
	"time"

	"vqa/domain/fault"
)

// The times of a grant (docs/contract.md#oauth).
const (
	// Life is how long a grant lasts. Then the person approves it again.
	Life = 180 * 24 * time.Hour
	// CodeLife is how long a code can be exchanged.
	CodeLife = 60 * time.Second
	// AccessLife is how long an access token works.
	AccessLife = time.Hour
	// RefreshIdle is how long an unused refresh token works.
	RefreshIdle = 30 * 24 * time.Hour
	// RotationGrace is how long a rotated refresh token still works for its client. Parallel sessions of
	// a program share one token and exchange it at the same time.
	RotationGrace = 60 * time.Second
	// UnusedClientLife is the life of a client that no person has approved.
	UnusedClientLife = 24 * time.Hour
)

const (
	// maxAccess is the most access tokens of a grant that work at a time.
	maxAccess = 32
	// maxRefresh is the most refresh tokens of a grant that work at a time. A token that is dropped revokes the
	// grant at its next use, so the number is larger than that of the parallel sessions of a program.
	maxRefresh = 64
	// MaxLimitSeconds is the largest spending limit, about 31 years of video.
	MaxLimitSeconds = 1_000_000_000
)

// Decide returns the events of a command, or the fault that refuses it: resource_not_found,
// resource_conflict, validation_failed, invalid_api_key for a wrong secret or client, token_expired, or
// key_revoked. A replayed code and a reused refresh token revoke the grant: the caller looks at the state
// after the command.
func Decide(s State, command Command, now time.Time) ([]Event, error) {
	switch c := command.(type) {
	case Approve:
		return decideApprove(s, c, now)
	case Deny:
		return decideDeny(s, c, now)
	}
	if !s.Exists() {
		return nil, fault.NotFound("id", "")
	}
	switch c := command.(type) {
	case Redeem:
		return s.redeem(c, now)
	case Refresh:
		return s.refresh(c, now)
	case Revoke:
		return s.revoke(c, now)
	default:
		panic(fmt.Sprintf("grant: unknown command %T", command))
	}
}

func decideApprove(s State, c Approve, now time.Time) ([]Event, error) {
	if s.Exists() {
		return nil, alreadyDecided()
	}
	if c.LimitSeconds < 0 || c.LimitSeconds > MaxLimitSeconds {
		return nil, fault.Invalid(fault.Violation{
			Param: "limit_seconds", Code: fault.Range, Message: fmt.Sprintf("must be 1 to %d seconds, or empty for no limit", MaxLimitSeconds),
		})
	}
	return []Event{Approved{
		GrantID: c.GrantID, AccountID: c.AccountID, Livemode: c.Livemode, ClientID: c.ClientID, ClientName: c.ClientName,
		RedirectURI: c.RedirectURI, Resource: c.Resource, Scope: c.Scope, LimitSeconds: c.LimitSeconds,
		Code: Token{Hash: c.CodeHash, ExpiresAt: now.Add(CodeLife)}, Challenge: c.Challenge, ExpiresAt: now.Add(Life), At: now,
	}}, nil
}

func decideDeny(s State, c Deny, now time.Time) ([]Event, error) {
	if s.Exists() {
		return nil, alreadyDecided()
	}
	return []Event{Denied{
		GrantID: c.GrantID, AccountID: c.AccountID, ClientID: c.ClientID, ClientName: c.ClientName, RedirectURI: c.RedirectURI,
		Livemode: c.Livemode, At: now,
	}}, nil
}

func alreadyDecided() error {
	return fault.New(fault.ResourceConflict, "This request was already approved or denied. Start again in the program.")
}

func (s State) redeem(c Redeem, now time.Time) ([]Event, error) {
	switch {
	case s.ClientID != c.ClientID:
		return nil, fault.New(fault.InvalidAPIKey, "The authorization code belongs to another client.")
	case s.Status == StatusDenied || !same(s.Code.Hash, c.CodeHash):
		return nil, fault.New(fault.InvalidAPIKey, "The authorization code is unknown.")
	case s.Status == StatusRevoked:
		return nil, revoked()
	case s.Status == StatusActive:
		return []Event{s.revoked(CodeReplayed, now)}, nil
	case !now.Before(s.Code.ExpiresAt):
		return nil, fault.New(fault.TokenExpired, "The authorization code has expired. Start the authorization again.")
	}
	access, refresh := s.tokens(c.Tokens, now)
	return []Event{Redeemed{GrantID: s.ID, AccountID: s.AccountID, FamilyHash: c.FamilyHash, Access: access, Refresh: refresh, At: now}}, nil
}

func (s State) refresh(c Refresh, now time.Time) ([]Event, error) {
	switch {
	case s.ClientID != c.ClientID:
		return nil, fault.New(fault.InvalidAPIKey, "The refresh token belongs to another client.")
	case s.FamilyHash == "" || !same(s.FamilyHash, c.FamilyHash):
		return nil, fault.New(fault.InvalidAPIKey, "The refresh token is unknown.")
	case s.Status == StatusRevoked:
		return nil, revoked()
	case !s.Open(now):
		return nil, fault.New(fault.TokenExpired, "The permission has expired. Start the authorization again.")
	}
	i := slices.IndexFunc(s.Refresh, func(t RefreshToken) bool { return same(t.Hash, c.RefreshHash) })
	if i < 0 || !s.Refresh[i].RotatedAt.IsZero() && !s.Refresh[i].works(now) {
		// The shared part proves that this server issued the token, and it is not one that works.
		return []Event{s.revoked(RefreshReused, now)}, nil
	}
	if !s.Refresh[i].works(now) {
		return nil, fault.New(fault.TokenExpired, "The refresh token has expired. Start the authorization again.")
	}
	access, refresh := s.tokens(c.Tokens, now)
	return []Event{Refreshed{GrantID: s.ID, AccountID: s.AccountID, UsedHash: c.RefreshHash, Access: access, Refresh: refresh, At: now}}, nil
}

// tokens returns new tokens, which end with the grant at the latest.
func (s State) tokens(t Tokens, now time.Time) (access, refresh Token) {
	until := func(life time.Duration) time.Time {
		if end := now.Add(life); end.Before(s.ExpiresAt) {
			return end
		}
		return s.ExpiresAt
	}
	return Token{Hash: t.Access, ExpiresAt: until(AccessLife)}, Token{Hash: t.Refresh, ExpiresAt: until(RefreshIdle)}
}

func (s State) revoke(c Revoke, now time.Time) ([]Event, error) {
	switch {
	case c.AccountID != "" && c.AccountID != s.AccountID, c.ClientID != "" && c.ClientID != s.ClientID, s.Status == StatusDenied:
		return nil, fault.NotFound("id", s.ID)
	case s.Status == StatusRevoked:
		return nil, nil
	}
	return []Event{s.revoked(c.Reason, now)}, nil
}

func (s State) revoked(reason Reason, now time.Time) Revoked {
	return Revoked{GrantID: s.ID, AccountID: s.AccountID, Reason: reason, At: now}
}

func revoked() error {
	return fault.New(fault.KeyRevoked, "The permission was revoked. Start the authorization again.")
}

// DecideClient returns the events of a command, or the fault that refuses it: resource_not_found for an
// unknown or expired client, or resource_conflict.
func DecideClient(s Client, command ClientCommand, now time.Time) ([]ClientEvent, error) {
	switch c := command.(type) {
	case Register:
		if s.Exists() {
			return nil, fault.New(fault.ResourceConflict, "The client already exists.")
		}
		return []ClientEvent{Registered{
			ClientID: c.ClientID, Name: c.Name, RedirectURIs: slices.Clone(c.RedirectURIs), ApplicationType: c.ApplicationType,
			AddressHash: c.AddressHash, ExpiresAt: now.Add(UnusedClientLife), At: now,
		}}, nil
	case Keep:
		switch {
		case !s.Exists() || s.Expired(now):
			return nil, fault.NotFound("id", "")
		case s.Approved && !c.Until.After(s.ExpiresAt):
			return nil, nil
		}
		return []ClientEvent{Kept{ClientID: s.ID, ExpiresAt: c.Until, At: now}}, nil
	default:
		panic(fmt.Sprintf("grant: unknown command %T", command))
	}
}
