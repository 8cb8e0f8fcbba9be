package edge

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/handlers/command"
)

// sessionCookie is the cookie of a session for the pages. API operations never read it: a
// browser sends cookies by itself, so a cookie does not prove that its owner sent the
// request.
const sessionCookie = "vqa_session"

// sessionLeeway is the accepted difference between the clocks of the issuer and this node.
const sessionLeeway = 60 * time.Second

// sessionAlgorithms are the accepted signature algorithms. The header of a token must not
// choose: an attacker could sign a token with HMAC and use the public key as the secret.
var sessionAlgorithms = []jose.SignatureAlgorithm{jose.RS256, jose.ES256}

// Sessions verifies first-party session JWTs (docs/contract.md#auth-3).
type Sessions struct {
	issuer   string
	audience jwt.Audience
	keys     *keySet
	now      func() time.Time
}

// SessionOptions configure the verification of sessions. All but Audience are required.
type SessionOptions struct {
	// Issuer is the required value of the claim iss.
	Issuer string
	// Audience must be one of the values of the claim aud. If it is empty, every session of
	// the issuer is accepted: the issuer then must not sign sessions for other services.
	Audience string
	// KeysURL serves the public keys of the issuer as a JSON Web Key Set.
	KeysURL string
	// Transport fetches the keys.
	Transport http.RoundTripper
	Now       func() time.Time
}

// NewSessions returns a verifier. It fetches the keys when the first session arrives.
func NewSessions(o SessionOptions) *Sessions {
	s := &Sessions{issuer: o.Issuer, now: o.Now, keys: newKeySet(o.KeysURL, o.Transport, o.Now)}
	if o.Audience != "" {
		s.audience = jwt.Audience{o.Audience}
	}
	return s
}

// Issuer returns the required value of the claim iss.
func (s *Sessions) Issuer() string { return s.issuer }

// Verify returns the person of a session. Errors: invalid_api_key for a session that is
// malformed, expired, not valid yet, of another issuer, for another audience or signed by
// an unknown key; upstream_error if the keys of the issuer were never fetched.
func (s *Sessions) Verify(ctx context.Context, raw string) (command.Person, error) {
	refused := func(cause error) (command.Person, error) {
		return command.Person{}, fault.New(fault.InvalidAPIKey, "The session is not valid. Sign in again.").WithCause(cause)
	}
	token, err := jwt.ParseSigned(raw, sessionAlgorithms)
	if err != nil {
		return refused(err)
	}
	header := token.Headers[0]
	keys, err := s.keys.find(ctx, header.KeyID, header.Algorithm)
	if err != nil {
		return command.Person{}, err
	}
	claims, err := verified(token, keys)
	if err != nil {
		return refused(err)
	}
	expected := jwt.Expected{Issuer: s.issuer, AnyAudience: s.audience, Time: s.now()}
	if err := claims.ValidateWithLeeway(expected, sessionLeeway); err != nil {
		return refused(err)
	}
	if claims.Expiry == nil || claims.Subject == "" {
		return refused(errors.New("the claims exp and sub are required"))
	}
	return command.Person{Issuer: s.issuer, Subject: claims.Subject, Email: claims.Verified()}, nil
}

// sessionClaims are the claims of a session.
type sessionClaims struct {
	jwt.Claims
	account.EmailClaims
}

// verified returns the claims of a token if one of the keys signed it.
func verified(token *jwt.JSONWebToken, keys []jose.JSONWebKey) (claims sessionClaims, err error) {
	err = errors.New("signed by an unknown key")
	for _, key := range keys {
		claims = sessionClaims{}
		if err = token.Claims(key.Key, &claims); err == nil {
			return claims, nil
		}
	}
	return sessionClaims{}, err
}

// looksLikeSession reports whether a credential has the form of a compact JWS. API keys and
// client tokens contain no dot.
func looksLikeSession(credential string) bool { return strings.Count(credential, ".") == 2 }

// session is a signed-in person. own is the session of this service, or zero for one of another issuer.
type session struct {
	account account.State
	own     account.Session
}

// caller returns the person as a caller: with all scopes, in live mode
// (docs/contract.md#modes).
func (s session) caller(requestID string) command.Caller {
	return command.Caller{AccountID: s.account.ID, SessionID: s.own.ID, Livemode: true, Tier: s.account.Tier, RequestID: requestID}
}

// signIn verifies a session. The first session of a person opens an account, and one with a new email address changes it. Errors:
// invalid_api_key, account_restricted, upstream_error.
func (e *Edge) signIn(ctx context.Context, raw, requestID string) (session, error) {
	if e.Tokens != nil && e.Tokens.issued(raw) {
		return e.ownToken(ctx, raw)
	}
	if e.Sessions == nil {
		return session{}, fault.New(fault.InvalidAPIKey, "")
	}
	person, err := e.Sessions.Verify(ctx, raw)
	if err != nil {
		return session{}, err
	}
	accountID := account.OwnedID(person.Issuer, person.Subject)
	a, found, err := e.Accounts.Account(ctx, accountID)
	if err != nil {
		return session{}, err
	}
	if !found || person.Email != "" && person.Email != a.Email {
		if _, err := e.Service.SignIn(ctx, person, requestID); err != nil {
			return session{}, err
		}
		if a, _, err = e.Accounts.Account(ctx, accountID); err != nil {
			return session{}, err
		}
	}
	if a.RestrictedAt != nil {
		return session{}, fault.New(fault.AccountRestricted, "")
	}
	return session{account: a}, nil
}

// SignIn authenticates the visitor of a page by the Authorization header or the session
// cookie: the secret of a session of this service, or a token of the configured issuer. Only
// pages may use it: they have their own protection against cross-site requests. It also sets
// Caller, for the access log. Errors: those of signIn, and
// invalid_api_key for a request without a session.
func (x *Exchange) SignIn() (command.Caller, error) {
	raw, given, err := bearer(x.Request.Header)
	if err != nil {
		return command.Caller{}, err
	}
	var person session
	switch own := x.CookieValue(sessionCookie); {
	case given:
		person, err = x.edge.signIn(x.Request.Context(), raw, x.RequestID)
	case own != "" && !looksLikeSession(own):
		raw = own
		person, err = x.edge.ownSession(x.Request.Context(), raw, x.RequestID)
	default:
		cookie, missing := x.Request.Cookie(sessionCookie)
		if missing != nil || len(cookie.Value) > maxCredential || !looksLikeSession(cookie.Value) {
			return command.Caller{}, fault.New(fault.InvalidAPIKey, "The request has no session. Sign in first.")
		}
		raw = cookie.Value
		if x.edge.Tokens != nil && x.edge.Tokens.issued(raw) {
			// This cookie has no prefix, so a sister host could plant a token of its own account.
			return command.Caller{}, fault.New(fault.InvalidAPIKey, "A token of this service is not a cookie. Sign in first.")
		}
		person, err = x.edge.signIn(x.Request.Context(), raw, x.RequestID)
	}
	if err != nil {
		return command.Caller{}, err
	}
	x.Caller, x.session = person.caller(x.RequestID), account.HashSecret(raw)
	x.own = person.own
	return x.Caller, nil
}
