package grant

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

// Kind is what a secret is for. It is the prefix of the secret.
type Kind string

// The kinds of secrets. The prefixes let a scanner of leaked secrets recognize them.
const (
	AccessToken   Kind = "svcat_"
	RefreshSecret Kind = "svcrt_"
	CodeSecret    Kind = "svcac_"
)

const (
	// idLength is the length of the id in a grant's id, without its prefix.
	idLength = 26
	// idPrefix starts the id of each grant.
	idPrefix = "grant_"
	// secretBytes of entropy make guessing hopeless, so a plain SHA-256 is enough for storage.
	secretBytes = 32
	// familyLength is the length of the shared part of refresh tokens, 16 bytes in base64url.
	familyLength = 22
)

// NewSecret returns a secret of a grant, made from 32 bytes of entropy.
func NewSecret(kind Kind, grantID string, entropy io.Reader) (string, error) {
	rest, err := random(entropy, secretBytes)
	return string(kind) + strings.TrimPrefix(grantID, idPrefix) + rest, err
}

// NewFamily returns the shared part of the refresh tokens of a grant.
func NewFamily(entropy io.Reader) (string, error) { return random(entropy, 16) }

// NewRefresh returns a refresh token of a family.
func NewRefresh(grantID, family string, entropy io.Reader) (string, error) {
	rest, err := random(entropy, secretBytes)
	return string(RefreshSecret) + strings.TrimPrefix(grantID, idPrefix) + family + rest, err
}

func random(entropy io.Reader, bytes int) (string, error) {
	raw := make([]byte, bytes)
	if _, err := io.ReadFull(entropy, raw); err != nil {
		return "", fmt.Errorf("read entropy for a token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

// GrantOf returns the id of the grant that a secret of a kind names. ok is false for other text.
func GrantOf(kind Kind, secret string) (grantID string, ok bool) {
	rest, ok := strings.CutPrefix(secret, string(kind))
	if !ok || len(rest) <= idLength {
		return "", false
	}
	return idPrefix + rest[:idLength], true
}

// Family returns the shared part of a refresh token. It is empty for text that is too short.
func Family(refresh string) string {
	rest := strings.TrimPrefix(refresh, string(RefreshSecret))
	if len(rest) < idLength+familyLength {
		return ""
	}
	return rest[idLength : idLength+familyLength]
}

// LooksLikeAccessToken reports whether a credential has the prefix of an access token.
func LooksLikeAccessToken(s string) bool { return strings.HasPrefix(s, string(AccessToken)) }

// Hash returns the only form in which a secret is stored: its SHA-256 in lower-case hexadecimal.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// same compares two hashes in constant time.
func same(a, b string) bool { return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
