package account

import (
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"time"
)

// DeviceCodeLife is how long a device code can be approved and collected
// (open-points.md, "Keys, scopes, tokens").
const DeviceCodeLife = 15 * time.Minute

// DevicePollEvery is the least time between two polls of a device code
// (open-points.md, "Keys, scopes, tokens": poll_interval 5).
const DevicePollEvery = 5 * time.Second

// DeviceCodeStatus is how far a claim has come. Expiry is no status: it follows from
// the time.
type DeviceCodeStatus string

// The statuses of a device code.
const (
	DevicePending  DeviceCodeStatus = "pending"
	DeviceApproved DeviceCodeStatus = "approved"
	DeviceDenied   DeviceCodeStatus = "denied"
	DeviceConsumed DeviceCodeStatus = "consumed"
)

// DeviceCode is one claim of a billed key: asked for by a program that holds the
// device code, approved by a person who was shown the user code.
type DeviceCode struct {
	// Hash is that of the device code, UserCodeHash that of the user code in its
	// normal form; both as HashSecret makes them.
	Hash         string           `json:"hash"`
	UserCodeHash string           `json:"user_code_hash"`
	Status       DeviceCodeStatus `json:"status"`
	// RequesterKeyID is the API key that asked; empty when none was shown.
	RequesterKeyID string    `json:"requester_key_id,omitempty"`
	RequestedAt    time.Time `json:"requested_at"`
	ExpiresAt      time.Time `json:"expires_at"`
	// AccountID is whoever approved or denied.
	AccountID string `json:"account_id,omitempty"`
	// KeyID is the key that was handed out.
	KeyID string `json:"key_id,omitempty"`
}

// Exists is true once the code was requested.
func (d DeviceCode) Exists() bool { return d.Hash != "" }

// Open reports whether something can still come of the code.
func (d DeviceCode) Open(now time.Time) bool {
	return (d.Status == DevicePending || d.Status == DeviceApproved) && now.Before(d.ExpiresAt)
}

// userCodeAlphabet has no vowel, so that no word comes about, and no character that is
// taken for another when it is read aloud or typed off (RFC 8628, section 6.1).
const userCodeAlphabet = "BCDFGHJKLMNPQRSTVWXZ"

// userCodeLength in characters makes 20^8 codes, some 34 bits: enough where a person
// must be signed in to try one and may miss few (MaxMissedCodes).
const userCodeLength = 8

// NewDeviceCode makes a device code from 32 bytes of entropy.
func NewDeviceCode(entropy io.Reader) (string, error) {
	raw := make([]byte, secretBytes)
	if _, err := io.ReadFull(entropy, raw); err != nil {
		return "", fmt.Errorf("reading entropy for a device code: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

// NewUserCode makes a user code in its normal form; every code is equally likely.
func NewUserCode(entropy io.Reader) (string, error) {
	// Bytes from here on would make the first characters of the alphabet likelier.
	const fair = 256 - 256%len(userCodeAlphabet)
	code := make([]byte, 0, userCodeLength)
	for one := make([]byte, 1); len(code) < userCodeLength; {
		if _, err := io.ReadFull(entropy, one); err != nil {
			return "", fmt.Errorf("reading entropy for a user code: %w", err)
		}
		if int(one[0]) < fair {
			code = append(code, userCodeAlphabet[int(one[0])%len(userCodeAlphabet)])
		}
	}
	return string(code), nil
}

// FormatUserCode groups a user code in its normal form for a reader: "BCDF-GHJK".
func FormatUserCode(code string) string {
	return code[:userCodeLength/2] + "-" + code[userCodeLength/2:]
}

// ParseUserCode brings what a person typed to the normal form: upper case, without
// hyphens and spaces. It reports whether that can be a user code at all.
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

// EvolveDeviceCode folds one event into the state; it panics on an unknown one.
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
