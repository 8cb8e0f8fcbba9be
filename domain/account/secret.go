package account

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

// secretBytes of entropy make guessing hopeless, so a plain SHA-256 is enough to
// store.
const secretBytes = 32

// The prefixes of secrets (api-v1.md, "Naming note").
const (
	livePrefix = "svc_live_"
	testPrefix = "svc_test_"
)

// NewSecret makes the secret of an API key from 32 bytes of entropy.
func NewSecret(mode Mode, entropy io.Reader) (string, error) {
	raw := make([]byte, secretBytes)
	if _, err := io.ReadFull(entropy, raw); err != nil {
		return "", fmt.Errorf("reading entropy for a key: %w", err)
	}
	prefix := livePrefix
	if mode == Test {
		prefix = testPrefix
	}
	return prefix + base64.RawURLEncoding.EncodeToString(raw), nil
}

// HashSecret is the only form in which a secret is stored: lower-case hex SHA-256.
func HashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Hint is what a person recognises a key by: its last four characters.
func Hint(secret string) string {
	return secret[max(0, len(secret)-4):]
}

// LooksLikeKey reports whether s has the prefix of an API key.
func LooksLikeKey(s string) bool {
	return strings.HasPrefix(s, livePrefix) || strings.HasPrefix(s, testPrefix)
}
