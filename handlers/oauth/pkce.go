package oauth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"strings"
)

// S256 is the only accepted method of a challenge.
const S256 = "S256"

// CheckChallenge checks the challenge of an authorization request. Error: InvalidRequest. The method
// "plain", which is also the default of RFC 7636, is refused: it protects from nothing that reads the
// request.
func CheckChallenge(challenge, method string) error {
	switch {
	case challenge == "":
		return refuse(InvalidRequest, "code_challenge is missing. Send the S256 challenge of a new code_verifier.")
	case method != S256:
		return refuse(InvalidRequest, "code_challenge_method must be S256.")
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(challenge)
	if err != nil || len(raw) != sha256.Size {
		return refuse(InvalidRequest, "code_challenge must be the base64url encoding of a SHA-256 hash, without padding: 43 characters.")
	}
	return nil
}

// CheckVerifier checks that the client that exchanges a code is the one that began. Error: InvalidGrant.
func CheckVerifier(challenge, verifier string) error {
	if len(verifier) < 43 || len(verifier) > 128 || strings.ContainsFunc(verifier, func(c rune) bool { return !unreserved(c) }) {
		return refuse(InvalidGrant, "code_verifier must have 43 to 128 letters, digits, hyphens, dots, underscores or tildes.")
	}
	sum := sha256.Sum256([]byte(verifier))
	if subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(challenge)) != 1 {
		return refuse(InvalidGrant, "code_verifier does not belong to this code.")
	}
	return nil
}

// unreserved reports whether a character needs no escape in an address (RFC 3986, section 2.3).
func unreserved(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}
