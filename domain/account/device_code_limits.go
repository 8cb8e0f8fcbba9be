package account

import (
	"slices"
	"time"

	"vqa/domain/fault"
)

// MaxOpenClaims bounds the open device codes of one address.
const MaxOpenClaims = 10

// MaxMissedCodes bounds the wrong user codes of one account within MissedCodesWindow,
// so that trying codes finds none.
const MaxMissedCodes = 10

// MissedCodesWindow is the rolling window of MaxMissedCodes.
const MissedCodesWindow = 15 * time.Minute

// ClaimRequested says that an address asked for a device code. Its stream is named by
// a keyed hash of the address, never by the address itself.
type ClaimRequested struct {
	AddressHash string `json:"address_hash"`
	// CodeHash is the device code that it was given.
	CodeHash  string    `json:"code_hash"`
	ExpiresAt time.Time `json:"expires_at"`
	// Closed are earlier codes of the address that were seen to be decided.
	Closed []string  `json:"closed,omitempty"`
	At     time.Time `json:"at"`
}

// EventType returns the stored name.
func (ClaimRequested) EventType() string { return "claim_address.requested" }

// ClaimAddress is what one address holds of the cap. It keeps at most MaxOpenClaims.
type ClaimAddress struct {
	// Held are the codes that count, oldest first.
	Held []HeldClaim `json:"held"`
}

// HeldClaim is a device code that may still be open.
type HeldClaim struct {
	CodeHash  string    `json:"code_hash"`
	ExpiresAt time.Time `json:"expires_at"`
}

// RequestClaim asks for one more device code of an address.
type RequestClaim struct {
	AddressHash string
	CodeHash    string
	// Closed are codes of the address that are decided and count no more.
	Closed []string
}

// EvolveClaimAddress folds one event into what the address holds.
func EvolveClaimAddress(a ClaimAddress, e ClaimRequested) ClaimAddress {
	return ClaimAddress{Held: append(a.without(e.Closed, e.At), HeldClaim{e.CodeHash, e.ExpiresAt})}
}

// DecideClaim allows one more device code of an address, or refuses it with
// rate_limit_exceeded and the seconds until the oldest open one expires.
func DecideClaim(a ClaimAddress, c RequestClaim, now time.Time) ([]ClaimRequested, error) {
	held := a.without(c.Closed, now)
	if len(held) >= MaxOpenClaims {
		return nil, fault.Newf(fault.RateLimitExceeded, "At most %d key requests may be open at once.", MaxOpenClaims).
			WithRetryAfter(secondsUntil(held[0].ExpiresAt, now))
	}
	return []ClaimRequested{{
		AddressHash: c.AddressHash, CodeHash: c.CodeHash, ExpiresAt: now.Add(DeviceCodeLife), Closed: c.Closed, At: now,
	}}, nil
}

// without are the codes that count at a time, in a list of its own.
func (a ClaimAddress) without(closed []string, now time.Time) []HeldClaim {
	var held []HeldClaim
	for _, h := range a.Held {
		if now.Before(h.ExpiresAt) && !slices.Contains(closed, h.CodeHash) {
			held = append(held, h)
		}
	}
	return held
}

// UserCodeMissed says that a signed-in person entered a user code that no claim has.
type UserCodeMissed struct {
	AccountID string    `json:"account_id"`
	At        time.Time `json:"at"`
}

// EventType returns the stored name.
func (UserCodeMissed) EventType() string { return "claim_guesses.missed" }

// ClaimGuesses are the wrong user codes of one account. It keeps at most
// MaxMissedCodes.
type ClaimGuesses struct {
	// MissedAt are the times within the window before the last event, oldest first.
	MissedAt []time.Time `json:"missed_at"`
}

// EnterUserCode is a try.
type EnterUserCode struct {
	AccountID string
	// Known is whether a claim has this code.
	Known bool
}

// EvolveGuesses folds one event into the guesses.
func EvolveGuesses(g ClaimGuesses, e UserCodeMissed) ClaimGuesses {
	return ClaimGuesses{MissedAt: append(within(g.MissedAt, MissedCodesWindow, e.At), e.At)}
}

// DecideUserCode records a miss. Past the cap every try is refused with
// rate_limit_exceeded, a right code as well as a wrong one, so that the answer tells
// nothing.
func DecideUserCode(g ClaimGuesses, c EnterUserCode, now time.Time) ([]UserCodeMissed, error) {
	missed := within(g.MissedAt, MissedCodesWindow, now)
	if len(missed) >= MaxMissedCodes {
		return nil, fault.New(fault.RateLimitExceeded, "Too many wrong codes.").
			WithRetryAfter(secondsUntil(missed[0].Add(MissedCodesWindow), now))
	}
	if c.Known {
		return nil, nil
	}
	return []UserCodeMissed{{AccountID: c.AccountID, At: now}}, nil
}
