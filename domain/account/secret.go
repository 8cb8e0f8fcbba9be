package account

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"vqa/domain/fault"
)

// With 32 bytes of entropy guessing is hopeless, so a plain SHA-256 is enough for storage.
const secretBytes = 32

// The prefixes of secrets (docs/contract.md#names).
const (
	livePrefix = "svc_live_"
	testPrefix = "svc_test_"
	// legacyPrefix starts keys that were issued before this API. New keys never have it.
	legacyPrefix = "pk_"
)

// NewSecret returns the secret of an API key, made from 32 bytes of entropy.
func NewSecret(mode Mode, entropy io.Reader) (string, error) {
	raw := make([]byte, secretBytes)
	if _, err := io.ReadFull(entropy, raw); err != nil {
		return "", fmt.Errorf("read entropy for a key: %w", err)
	}
	prefix := livePrefix
	if mode == Test {
		prefix = testPrefix
	}
	return prefix + base64.RawURLEncoding.EncodeToString(raw), nil
}

// LooksLikeLiveKey reports whether a credential has the prefix of a live key. The mode of a legacy
// key is not in its prefix.
func LooksLikeLiveKey(s string) bool { return strings.HasPrefix(s, livePrefix) }

// HashSecret returns the only form in which a secret is stored: its SHA-256 in lower-case
// hexadecimal.
func HashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Hint returns the last four characters of a secret, by which a person recognizes the key.
func Hint(secret string) string {
	return secret[max(0, len(secret)-4):]
}

// LooksLikeKey reports whether s has the prefix of an API key.
func LooksLikeKey(s string) bool {
	return strings.HasPrefix(s, livePrefix) || strings.HasPrefix(s, testPrefix) || strings.HasPrefix(s, legacyPrefix)
}

// The length of a legacy secret, prefix included, in bytes.
const (
	minLegacySecret = 20
	maxLegacySecret = 200
)

// CheckLegacySecret returns validation_failed for a secret that cannot be a legacy key.
// Such a secret has another prefix, fewer than 20 or more than 200 characters, or
// characters that no header can carry.
func CheckLegacySecret(secret string) error {
	violation := func(code fault.ViolationCode, message string) error {
		return fault.Invalid(fault.Violation{Param: "secret", Code: code, Message: message})
	}
	unprintable := func(r rune) bool { return r <= ' ' || r > '~' }
	switch {
	case !strings.HasPrefix(secret, legacyPrefix):
		return violation(fault.Format, "must begin with "+legacyPrefix)
	case len(secret) < minLegacySecret || len(secret) > maxLegacySecret:
		return violation(fault.Length, fmt.Sprintf("must have %d to %d characters", minLegacySecret, maxLegacySecret))
	case strings.ContainsFunc(secret, unprintable):
		return violation(fault.Format, "must be printable ASCII without spaces")
	}
	return nil
}
