package account

import (
	"slices"
	"time"

	"vqa/domain/fault"
)

// MaxOpenClaims is the largest number of open device codes of one address.
const MaxOpenClaims = 10

// MaxMissedCodes is the largest number of wrong user codes that one account can enter
// within MissedCodesWindow. It makes guessing a code hopeless.
const MaxMissedCodes = 10

// MissedCodesWindow is the rolling window of MaxMissedCodes.
const MissedCodesWindow = 15 * time.Minute

// ClaimRequested says that an address requested a device code. A keyed hash of the address
// names the stream, never the address itself.
type ClaimRequested struct {
	AddressHash string `json:"address_hash"`
	// CodeHash is the hash of the device code that the address received.
	CodeHash  string    `json:"code_hash"`
	ExpiresAt time.Time `json:"expires_at"`
	// Closed are earlier codes of the address that were found to be denied, collected or
	// expired.
	Closed []string  `json:"closed,omitempty"`
	At     time.Time `json:"at"`
}

// EventType returns the stored name.
func (ClaimRequested) EventType() string { return "claim_address.requested" }

// ClaimAddress is the use of the limit by one address. It keeps at most MaxOpenClaims
// codes.
type ClaimAddress struct {
	// Held are the codes that count against the limit, oldest first.
	Held []HeldClaim `json:"held"`
}

// HeldClaim is a device code that may still be open.
type HeldClaim struct {
	CodeHash  string    `json:"code_hash"`
	ExpiresAt time.Time `json:"expires_at"`
}

// RequestClaim requests one more device code for an address.
type RequestClaim struct {
	AddressHash string
	CodeHash    string
	// Closed are codes of the address that are denied, collected or expired. They no longer
	// count.
	Closed []string
}

// EvolveClaimAddress folds one event into the use of the limit.
func EvolveClaimAddress(a ClaimAddress, e ClaimRequested) ClaimAddress {
	return ClaimAddress{Held: append(a.without(e.Closed, e.At), HeldClaim{e.CodeHash, e.ExpiresAt})}
}

// DecideClaim allows one more device code for an address. At the limit it returns
// rate_limit_exceeded with the seconds until the oldest open code expires.
func DecideClaim(a ClaimAddress, c RequestClaim, now time.Time) ([]ClaimRequested, error) {
	held := a.without(c.Closed, now)
	if len(held) >= MaxOpenClaims {
		return nil, fault.Newf(fault.RateLimitExceeded, "This address has %d open key requests, the maximum. Complete one, or wait until one expires.", MaxOpenClaims).
			WithRetryAfter(secondsUntil(held[0].ExpiresAt, now))
	}
	return []ClaimRequested{{
		AddressHash: c.AddressHash, CodeHash: c.CodeHash, ExpiresAt: now.Add(DeviceCodeLife), Closed: c.Closed, At: now,
	}}, nil
}

// without returns a new list of the codes that count at a time, except the closed ones.
func (a ClaimAddress) without(closed []string, now time.Time) []HeldClaim {
	var held []HeldClaim
	for _, h := range a.Held {
		if now.Before(h.ExpiresAt) && !slices.Contains(closed, h.CodeHash) {
			held = append(held, h)
		}
	}
	return held
}

// UserCodeMissed says that a signed-in person entered a user code that belongs to no claim.
type UserCodeMissed struct {
	AccountID string    `json:"account_id"`
	At        time.Time `json:"at"`
}

// EventType returns the stored name.
func (UserCodeMissed) EventType() string { return "claim_guesses.missed" }

// ClaimGuesses are the wrong user codes of one account, at most MaxMissedCodes of them.
type ClaimGuesses struct {
	// MissedAt are the times of the misses, oldest first, within the window before the last
	// event.
	MissedAt []time.Time `json:"missed_at"`
}

// EnterUserCode is one attempt to enter a user code.
type EnterUserCode struct {
	AccountID string
	// Known is true when a claim has this code.
	Known bool
}

// EvolveGuesses folds one event into the guesses.
func EvolveGuesses(g ClaimGuesses, e UserCodeMissed) ClaimGuesses {
	return ClaimGuesses{MissedAt: append(within(g.MissedAt, MissedCodesWindow, e.At), e.At)}
}

// DecideUserCode records a miss. At the limit it refuses every attempt with
// rate_limit_exceeded. It also refuses a right code, so that the answer reveals nothing.
func DecideUserCode(g ClaimGuesses, c EnterUserCode, now time.Time) ([]UserCodeMissed, error) {
	missed := within(g.MissedAt, MissedCodesWindow, now)
	if len(missed) >= MaxMissedCodes {
		return nil, fault.New(fault.RateLimitExceeded, "Too many wrong codes. Wait for the time in Retry-After, then try again.").
			WithRetryAfter(secondsUntil(missed[0].Add(MissedCodesWindow), now))
	}
	if c.Known {
		return nil, nil
	}
	return []UserCodeMissed{{AccountID: c.AccountID, At: now}}, nil
}
