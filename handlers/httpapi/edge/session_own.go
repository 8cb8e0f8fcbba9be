package edge

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"vqa/domain/account"
	"vqa/domain/fault"
)

// sessionTokenLife is the life of a token that a page gets for its cookie.
const sessionTokenLife = 5 * time.Minute

// SessionTokens issues and verifies the tokens with which the pages of this service call its API.
type SessionTokens struct {
	issuer, keyID string
	key           *ecdsa.PrivateKey
	now           func() time.Time
}

// NewSessionTokens derives the ES256 key of the tokens from a secret that all nodes share. issuer is the public
// URL of the service.
func NewSessionTokens(secret []byte, issuer string, now func() time.Time) (*SessionTokens, error) {
	// 16 bytes more than the key keep the bias of the remainder below 2^-128.
	raw, err := hkdf.Key(sha256.New, secret, nil, "session tokens ES256", 48)
	if err != nil {
		return nil, fmt.Errorf("derive the key of session tokens: %w", err)
	}
	curve := elliptic.P256()
	last := new(big.Int).Sub(curve.Params().N, big.NewInt(1))
	scalar := new(big.Int).Mod(new(big.Int).SetBytes(raw), last)
	scalar.Add(scalar, big.NewInt(1)) // 1 to N-1
	key, err := ecdsa.ParseRawPrivateKey(curve, scalar.FillBytes(make([]byte, 32)))
	if err != nil {
		return nil, fmt.Errorf("derive the key of session tokens: %w", err)
	}
	public, err := key.PublicKey.Bytes()
	if err != nil {
		return nil, fmt.Errorf("derive the key of session tokens: %w", err)
	}
	sum := sha256.Sum256(public)
	return &SessionTokens{issuer: issuer, keyID: "vqa-" + hex.EncodeToString(sum[:8]), key: key, now: now}, nil
}

// ownClaims are the claims of a token of this service.
type ownClaims struct {
	jwt.Claims
	// Session is the id of the session that the token was issued for.
	Session string `json:"sid"`
}

// Issue returns a token for a session, and its end. The token ends with its session.
func (t *SessionTokens) Issue(s account.Session) (token string, expires time.Time, err error) {
	options := (&jose.SignerOptions{}).WithHeader("kid", t.keyID)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: t.key}, options)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("sign a session token: %w", err)
	}
	now := t.now()
	expires = now.Add(sessionTokenLife).Truncate(time.Second)
	token, err = jwt.Signed(signer).Claims(ownClaims{
		Claims: jwt.Claims{
			Issuer: t.issuer, Audience: jwt.Audience{t.issuer}, Subject: s.AccountID,
			IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(expires),
		},
		Session: s.ID,
	}).Serialize()
	if err != nil {
		return "", time.Time{}, fmt.Errorf("sign a session token: %w", err)
	}
	return token, expires, nil
}

// issued reports whether a token names the key of this service. Its signature is not verified yet.
func (t *SessionTokens) issued(raw string) bool {
	token, err := jwt.ParseSigned(raw, sessionAlgorithms)
	return err == nil && len(token.Headers) == 1 && token.Headers[0].KeyID == t.keyID
}

// verify returns the session and the account of a token.
func (t *SessionTokens) verify(raw string) (sessionID, accountID string, err error) {
	token, err := jwt.ParseSigned(raw, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		return "", "", err
	}
	var claims ownClaims
	if err := token.Claims(&t.key.PublicKey, &claims); err != nil {
		return "", "", err
	}
	expected := jwt.Expected{Issuer: t.issuer, AnyAudience: jwt.Audience{t.issuer}, Time: t.now()}
	// All nodes use the clock of the database, so no leeway is needed but that of rounding to seconds.
	if err := claims.ValidateWithLeeway(expected, time.Second); err != nil {
		return "", "", err
	}
	if claims.Expiry == nil || claims.Session == "" || claims.Subject == "" {
		return "", "", errors.New("the claims exp, sid and sub are required")
	}
	return claims.Session, claims.Subject, nil
}

// sessionEnded is the error for a session of this service that does not sign in.
func sessionEnded(cause error) error {
	return fault.New(fault.InvalidAPIKey, "Your session has ended. Sign in again.").WithCause(cause)
}

// ownSession returns the person of the secret in a cookie, and records the use of the session. Errors:
// invalid_api_key, account_restricted.
func (e *Edge) ownSession(ctx context.Context, secret, requestID string) (session, error) {
	hash := account.HashSecret(secret)
	s, found, err := e.Accounts.Session(ctx, hash)
	if err != nil {
		return session{}, err
	}
	if !found || !sameHash(s.SecretHash, hash) {
		return session{}, sessionEnded(nil)
	}
	person, err := e.personOf(ctx, s)
	if err != nil || !s.NeedsUse(e.Service.Now()) {
		return person, err
	}
	if err := e.Service.RefreshSession(ctx, s, requestID); err != nil {
		// The session is valid all the same. Its next use tries again.
		e.Log.WarnContext(ctx, "cannot record the use of a session", "session_id", s.ID, "error", err)
	}
	return person, nil
}

// ownToken returns the person of a token of this service. The token ends at once with its session. Errors:
// invalid_api_key, account_restricted.
func (e *Edge) ownToken(ctx context.Context, raw string) (session, error) {
	sessionID, accountID, err := e.Tokens.verify(raw)
	if err != nil {
		return session{}, sessionEnded(err)
	}
	s, found, err := e.Accounts.SessionByID(ctx, sessionID)
	if err != nil {
		return session{}, err
	}
	if !found || s.AccountID != accountID {
		return session{}, sessionEnded(nil)
	}
	return e.personOf(ctx, s)
}

// personOf returns the person of a session that has not ended.
func (e *Edge) personOf(ctx context.Context, s account.Session) (session, error) {
	if !s.Active(e.Service.Now()) {
		return session{}, sessionEnded(nil)
	}
	a, found, err := e.Accounts.Account(ctx, s.AccountID)
	switch {
	case err != nil:
		return session{}, err
	case !found:
		return session{}, sessionEnded(nil)
	case a.RestrictedAt != nil:
		return session{}, fault.New(fault.AccountRestricted, "")
	}
	return session{account: a, own: s}, nil
}
