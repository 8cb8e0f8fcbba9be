package account

import (
	"fmt"
	"time"

	"vqa/domain/fault"
)

// Decide returns the events that a command leads to, or the fault that refuses it:
// resource_conflict or resource_not_found.
func Decide(s State, command Command, now time.Time) ([]Event, error) {
	if _, opening := command.(Open); !opening && !s.Exists() {
		return nil, fault.NotFound()
	}
	switch c := command.(type) {
	case Open:
		if s.Exists() {
			return nil, fault.New(fault.ResourceConflict, "The account already exists.")
		}
		return []Event{Opened{AccountID: c.AccountID, Tier: c.Tier, At: now}}, nil
	case IssueKey:
		return decideIssueKey(s, c, now)
	case RevokeKey:
		k, ok := s.Keys[c.KeyID]
		if !ok {
			return nil, fault.NotFound()
		}
		if k.RevokedAt != nil {
			return nil, nil
		}
		return []Event{KeyRevoked{AccountID: s.ID, KeyID: c.KeyID, At: now}}, nil
	default:
		panic(fmt.Sprintf("account: unknown command %T", command))
	}
}

func decideIssueKey(s State, c IssueKey, now time.Time) ([]Event, error) {
	if _, taken := s.Keys[c.KeyID]; taken {
		return nil, fault.New(fault.ResourceConflict, "The key already exists.")
	}
	return []Event{KeyIssued{
		AccountID: s.ID, KeyID: c.KeyID, Mode: c.Mode, Tier: s.Tier, Name: c.Name, SecretHash: c.SecretHash,
		Hint: c.Hint, Scopes: c.Scopes, ExpiresAt: c.ExpiresAt, At: now,
	}}, nil
}
