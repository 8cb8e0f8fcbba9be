package account

import (
	"fmt"
	"time"

	"vqa/domain/fault"
)

// Limits of an account's keys. maxKeysPerDay bounds the size of the state of an account
// that creates and revokes keys all day.
const (
	maxActiveKeys = 100
	maxKeysPerDay = 300
)

// Decide returns the events of a command, or the fault that refuses it: resource_conflict,
// resource_not_found or insufficient_scope.
func Decide(s State, command Command, now time.Time) ([]Event, error) {
	if signUp, ok := command.(SignUp); ok {
		return decideSignUp(s, signUp, now)
	}
	if _, opening := command.(Open); !opening && !s.Exists() {
		return nil, fault.New(fault.ResourceNotFound, "")
	}
	switch c := command.(type) {
	case Open:
		if s.Exists() {
			return nil, fault.New(fault.ResourceConflict, "The account already exists.")
		}
		return []Event{Opened{AccountID: c.AccountID, Tier: c.Tier, At: now}}, nil
	case IssueKey:
		return decideIssueKey(s, c, now)
	case MintKey:
		return decideMintKey(s, c, now)
	case RotateKey:
		return decideRotateKey(s, c, now)
	case RevokeKey:
		k, err := s.key(c.KeyID, c.Mode)
		if err != nil || k.RevokedAt != nil {
			return nil, err
		}
		return []Event{KeyRevoked{AccountID: s.ID, KeyID: c.KeyID, At: now}}, nil
	case UseKey:
		k, err := s.key(c.KeyID, "")
		if err != nil || k.Check(now) != nil || !k.UseDue(now) {
			return nil, err
		}
		return []Event{KeyUsed{AccountID: s.ID, KeyID: c.KeyID, At: now}}, nil
	default:
		return decideAccount(s, command, now)
	}
}

// decideAccount decides the commands that do not concern a key.
func decideAccount(s State, command Command, now time.Time) ([]Event, error) {
	switch c := command.(type) {
	case Upgrade:
		if s.Tier != Sandbox {
			return nil, fault.New(fault.ResourceConflict, "The account has already been upgraded from the sandbox plan.")
		}
		return []Event{Upgraded{AccountID: s.ID, Tier: FreeGrant, At: now}}, nil
	case Restrict:
		if s.RestrictedAt != nil {
			return nil, nil
		}
		return []Event{Restricted{AccountID: s.ID, Reason: c.Reason, At: now}}, nil
	case Unrestrict:
		if s.RestrictedAt == nil {
			return nil, nil
		}
		return []Event{Unrestricted{AccountID: s.ID, Reason: c.Reason, At: now}}, nil
	default:
		panic(fmt.Sprintf("account: unknown command %T", command))
	}
}

// key finds a key, of the given mode unless mode is empty. Error: resource_not_found.
func (s State) key(id string, mode Mode) (Key, error) {
	k, ok := s.Keys[id]
	if !ok || (mode != "" && k.Mode != mode) {
		return Key{}, fault.NotFound("id", id)
	}
	return k, nil
}

func decideIssueKey(s State, c IssueKey, now time.Time) ([]Event, error) {
	issued := KeyIssued{
		KeyID: c.KeyID, Mode: c.Mode, Tier: s.Tier, Name: c.Name, SecretHash: c.SecretHash, Hint: c.Hint,
		Scopes: c.Scopes, ExpiresAt: c.ExpiresAt, IdleS: c.IdleS, Legacy: c.Legacy,
	}
	if c.IdleS > 0 {
		issued.ExpiresAt = idleEnd(c.IdleS, now)
	}
	return s.issue(issued, now)
}

func decideMintKey(s State, c MintKey, now time.Time) ([]Event, error) {
	by, err := s.callingKey(c.By, c.Mode)
	if err != nil {
		return nil, err
	}
	if c.Scopes == nil {
		c.Scopes = by.Scopes
	}
	if scope := exceedingKey(by, c.Scopes); scope != "" {
		return nil, fault.Newf(fault.InsufficientScope, "You cannot create a key with scope %s: your key lacks it.", scope).WithParam("scopes")
	}
	issued := KeyIssued{
		KeyID: c.KeyID, Mode: c.Mode, Tier: by.Tier, Name: c.Name, SecretHash: c.SecretHash, Hint: c.Hint, Scopes: c.Scopes,
	}
	return s.issue(withEndOf(issued, by, now), now)
}

func decideRotateKey(s State, c RotateKey, now time.Time) ([]Event, error) {
	old, err := s.key(c.KeyID, c.Mode)
	if err != nil {
		return nil, err
	}
	by, err := s.callingKey(c.By, c.Mode)
	if err != nil {
		return nil, err
	}
	// A key could otherwise obtain the secret of a key with more scopes.
	if scope := exceedingKey(by, old.Scopes); scope != "" {
		return nil, fault.Newf(fault.InsufficientScope, "You cannot rotate a key that has scope %s with a key that lacks it.", scope)
	}
	switch {
	case old.Ended(now) != nil:
		return nil, fault.New(fault.ResourceConflict, "The key is revoked or expired. Create a new key.")
	case old.ReplacedBy != "":
		return nil, fault.Newf(fault.ResourceConflict, "The key has already been rotated. Its replacement is %s.", old.ReplacedBy)
	}
	events, err := s.issue(withEndOf(KeyIssued{
		KeyID: c.NewKeyID, Mode: old.Mode, Tier: old.Tier, Name: old.Name, SecretHash: c.SecretHash, Hint: c.Hint,
		Scopes: old.Scopes, RotatedFrom: old.ID,
	}, old, now), now)
	if err != nil {
		return nil, err
	}
	end := now.Add(rotationOverlap)
	if last := old.End(); last != nil && last.Before(end) {
		end = *last
	}
	events = append(events, KeyReplaced{AccountID: s.ID, KeyID: old.ID, ReplacedBy: c.NewKeyID, ExpiresAt: end, At: now})
	if c.RevokeOld {
		events = append(events, KeyRevoked{AccountID: s.ID, KeyID: old.ID, At: now})
	}
	return events, nil
}

// exceedingKey is exceeding for keys, where nil means every scope on both sides.
func exceedingKey(by Key, wanted []string) string {
	if wanted == nil {
		wanted = scopes
	}
	return exceeding(by.Scopes, wanted)
}

// callingKey returns the key that authenticated a request. Without an id the caller is the
// signed-in owner, who acts like a key without limits. Error: resource_not_found.
func (s State) callingKey(id string, mode Mode) (Key, error) {
	if id == "" {
		return Key{Mode: mode, Tier: s.Tier}, nil
	}
	return s.key(id, mode)
}

// withEndOf sets the end of a new key from the key that it comes from. A fixed end is
// copied. The end of a test key and of a key that expires when idle starts from now.
func withEndOf(issued KeyIssued, from Key, now time.Time) KeyIssued {
	switch {
	case issued.Mode == Test:
		issued.ExpiresAt = idleEnd(int64(TestKeyLife/time.Second), now)
	case from.IdleS > 0 && from.ReplacedBy == "":
		issued.IdleS, issued.ExpiresAt = from.IdleS, idleEnd(from.IdleS, now)
	default:
		issued.ExpiresAt = from.ExpiresAt
	}
	return issued
}

// issue adds a new key within the limits of the account. A replaced key does not count, so
// that rotation is always possible.
func (s State) issue(issued KeyIssued, now time.Time) ([]Event, error) {
	active, today := 0, 0
	for _, k := range s.Keys {
		if k.ID == issued.KeyID || k.SecretHash == issued.SecretHash {
			return nil, fault.New(fault.ResourceConflict, "The key already exists.")
		}
		if k.Ended(now) == nil && k.ReplacedBy == "" && k.ID != issued.RotatedFrom {
			active++
		}
		if now.Sub(k.IssuedAt) < 24*time.Hour {
			today++
		}
	}
	if active >= maxActiveKeys {
		return nil, fault.Newf(fault.ResourceConflict, "The account has %d active keys, the maximum. Revoke one before you create another.", active)
	}
	if today >= maxKeysPerDay {
		return nil, fault.Newf(fault.ResourceConflict, "The account has created %d keys in 24 hours, the maximum. Try again later.", today)
	}
	issued.AccountID, issued.At = s.ID, now
	return []Event{issued}, nil
}
