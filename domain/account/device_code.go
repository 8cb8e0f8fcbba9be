package account

import (
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"time"
)

// DeviceCodeLife is how long a device code can be approved and collected
// (docs/contract.md#device-codes).
const DeviceCodeLife = 15 * time.Minute

// DevicePollEvery is the minimum time between two polls of a device code
// (docs/contract.md#device-codes).
const DevicePollEvery = 5 * time.Second

// DeviceCodeStatus is the progress of a claim. There is no expired status because expiry
// follows from the time.
type DeviceCodeStatus string

// The statuses of a device code.
const (
	DevicePending  DeviceCodeStatus = "pending"
	DeviceApproved DeviceCodeStatus = "approved"
	DeviceDenied   DeviceCodeStatus = "denied"
	DeviceConsumed DeviceCodeStatus = "consumed"
)

// DeviceCode is one claim of a billed key. A program that holds the device code requests
// it, and a person who was shown the user code approves it.
type DeviceCode struct {
	// Hash is the hash of the device code, and UserCodeHash that of the user code in its
	// normal form. Both come from HashSecret.
	Hash         string           `json:"hash"`
	UserCodeHash string           `json:"user_code_hash"`
	Status       DeviceCodeStatus `json:"status"`
	// RequesterKeyID is the API key that made the request. It is empty when the request
	// carried no key.
	RequesterKeyID string    `json:"requester_key_id,omitempty"`
	RequestedAt    time.Time `json:"requested_at"`
	ExpiresAt      time.Time `json:"expires_at"`
	// AccountID is the account whose owner approved or denied the claim.
	AccountID string `json:"account_id,omitempty"`
	// KeyID is the key that was issued.
	KeyID string `json:"key_id,omitempty"`
}

// Exists is true once the code was requested.
func (d DeviceCode) Exists() bool { return d.Hash != "" }

// Open reports whether the code can still be approved or collected.
func (d DeviceCode) Open(now time.Time) bool {
	return (d.Status == DevicePending || d.Status == DeviceApproved) && now.Before(d.ExpiresAt)
}

// userCodeAlphabet has no vowels, so that no code is a word. It has no characters that are
// easily confused when they are read aloud or typed (RFC 8628, section 6.1).
const userCodeAlphabet = "BCDFGHJKLMNPQRSTVWXZ"

// A user code of 8 characters is one of 20^8 codes, about 34 bits. That is enough because a
// person must sign in to try one and may miss few (MaxMissedCodes).
const userCodeLength = 8

// NewDeviceCode returns a device code made from 32 bytes of entropy.
func NewDeviceCode(entropy io.Reader) (string, error) {
	raw := make([]byte, secretBytes)
	if _, err := io.ReadFull(entropy, raw); err != nil {
		return "", fmt.Errorf("read entropy for a device code: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

// NewUserCode returns a user code in its normal form. Every code is equally likely.
func NewUserCode(entropy io.Reader) (string, error) {
	// Bytes from fair on are skipped, because they would make the first characters of the
	// alphabet more likely.
	const fair = 256 - 256%len(userCodeAlphabet)
	code := make([]byte, 0, userCodeLength)
	for one := make([]byte, 1); len(code) < userCodeLength; {
		if _, err := io.ReadFull(entropy, one); err != nil {
			return "", fmt.Errorf("read entropy for a user code: %w", err)
		}
		if int(one[0]) < fair {
			code = append(code, userCodeAlphabet[int(one[0])%len(userCodeAlphabet)])
		}
	}
	return string(code), nil
}

// FormatUserCode groups a user code in its normal form for display: "BCDF-GHJK".
func FormatUserCode(code string) string {
	return code[:userCodeLength/2] + "-" + code[userCodeLength/2:]
}

// ParseUserCode converts what a person typed to the normal form: upper case, without
// hyphens and spaces. It reports whether the result has the form of a user code.
func ParseUserCode(typed string) (string, bool) {
	code := strings.Map(func(c rune) rune {
		switch {
		case c == '-' || c == ' ':
			return -1
		case 'a' <= c && c <= 'z':
			return c - 'a' + 'A'
		default:
			return c
		}
	}, typed)
	if len(code) != userCodeLength {
		return "", false
	}
	for _, c := range code {
		if !strings.ContainsRune(userCodeAlphabet, c) {
			return "", false
		}
	}
	return code, true
}

// EvolveDeviceCode folds one event into the state. It panics on an unknown event.
func EvolveDeviceCode(d DeviceCode, event DeviceCodeEvent) DeviceCode {
	switch e := event.(type) {
	case DeviceCodeRequested:
		return DeviceCode{
			Hash: e.Hash, UserCodeHash: e.UserCodeHash, Status: DevicePending, RequesterKeyID: e.RequesterKeyID,
			RequestedAt: e.At, ExpiresAt: e.ExpiresAt,
		}
	case DeviceCodeApproved:
		d.Status, d.AccountID = DeviceApproved, e.AccountID
	case DeviceCodeDenied:
		d.Status, d.AccountID = DeviceDenied, e.AccountID
	case DeviceCodeConsumed:
		d.Status, d.KeyID = DeviceConsumed, e.KeyID
	default:
		panic(fmt.Sprintf("account: unknown event %T", event))
	}
	return d
}
