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

// sessionCookie carries a session to the pages for people. No operation of the API reads
// it: what a browser sends by itself proves no intent.
const sessionCookie = "vqa_session"

// sessionLeeway is how far the clocks of the issuer and of this service may differ.
const sessionLeeway = 60 * time.Second

// sessionAlgorithms are the signatures that count. A list, never the token's own word,
// decides: a token signed with a public key as an HMAC secret is refused here.
var sessionAlgorithms = []jose.SignatureAlgorithm{jose.RS256, jose.ES256}

// Sessions verifies first-party session JWTs (api-v1.md, "Authentication", 3).
type Sessions struct {
	issuer   string
	audience jwt.Audience
	keys     *keySet
	now      func() time.Time
}

// SessionOptions are what sessions are verified by. All but Audience are required.
type SessionOptions struct {
	// Issuer is the exact value of the claim iss.
	Issuer string
	// Audience must be among the values of the claim aud. Empty takes every session of the
	// issuer, which then must sign none for anybody else.
	Audience string
	// KeysURL serves the issuer's public keys as a JSON Web Key Set.
	KeysURL string
	// Transport fetches them.
	Transport http.RoundTripper
	Now       func() time.Time
}

// NewSessions returns a verifier. It fetches nothing until a session is shown.
func NewSessions(o SessionOptions) *Sessions {
	s := &Sessions{issuer: o.Issuer, now: o.Now, keys: newKeySet(o.KeysURL, o.Transport, o.Now)}
	if o.Audience != "" {
		s.audience = jwt.Audience{o.Audience}
	}
	return s
}

// Issuer is who signs the sessions.
func (s *Sessions) Issuer() string { return s.issuer }

// Verify returns the subject of a session. Errors: invalid_api_key for a session that is
// malformed, expired, not yet valid, of another issuer, for another audience or signed by
// an unknown key; upstream_error while the issuer's keys were never to be had.
func (s *Sessions) Verify(ctx context.Context, raw string) (subject string, err error) {
	refused := func(cause error) (string, error) {
		return "", fault.New(fault.InvalidAPIKey, "The session is not valid.").WithCause(cause)
	}
	token, err := jwt.ParseSigned(raw, sessionAlgorithms)
	if err != nil {
		return refused(err)
	}
	header := token.Headers[0]
	keys, err := s.keys.find(ctx, header.KeyID, header.Algorithm)
	if err != nil {
		return "", err
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
		return refused(errors.New("a session needs exp and sub"))
	}
	return claims.Subject, nil
}

// verified reads the claims of a token that one of the keys has signed.
func verified(token *jwt.JSONWebToken, keys []jose.JSONWebKey) (claims jwt.Claims, err error) {
	err = errors.New("signed by an unknown key")
	for _, key := range keys {
		claims = jwt.Claims{}
		if err = token.Claims(key.Key, &claims); err == nil {
			return claims, nil
		}
	}
	return jwt.Claims{}, err
}

// looksLikeSession tells a compact JWS from keys and tokens, which have no dot.
func looksLikeSession(credential string) bool { return strings.Count(credential, ".") == 2 }

// session is a person who signed in.
type session struct {
	subject string
	// account is that of the person.
	account account.State
}

// caller is how the use cases know the person: all scopes, live (api-v1.md, "Mode rules").
func (s session) caller(requestID string) command.Caller {
	return command.Caller{AccountID: s.account.ID, Livemode: true, Tier: s.account.Tier, RequestID: requestID}
}

// signIn verifies a session and opens the person's account at the first. Errors:
// invalid_api_key, account_restricted, upstream_error.
func (e *Edge) signIn(ctx context.Context, raw, requestID string) (session, error) {
	if e.Sessions == nil {
		return session{}, fault.New(fault.InvalidAPIKey, "")
	}
	subject, err := e.Sessions.Verify(ctx, raw)
	if err != nil {
		return session{}, err
	}
	accountID := account.OwnedID(e.Sessions.issuer, subject)
	a, found, err := e.Accounts.Account(ctx, accountID)
	if err != nil {
		return session{}, err
	}
	if !found {
		if _, err := e.Service.SignIn(ctx, e.Sessions.issuer, subject, requestID); err != nil {
			return session{}, err
		}
		if a, _, err = e.Accounts.Account(ctx, accountID); err != nil {
			return session{}, err
		}
	}
	if a.RestrictedAt != nil {
		return session{}, fault.New(fault.AccountRestricted, "")
	}
	return session{subject: subject, account: a}, nil
}

// SignIn authenticates the person who asks for a page: by the Authorization header or by
// the session cookie. It is for pages alone, which guard themselves against forged
// requests. The access log then names the person's account. Errors: those of signIn;
// invalid_api_key also for a request without a session.
func (x *Exchange) SignIn() (command.Caller, error) {
	raw, given, err := bearer(x.Request.Header)
	if err != nil {
		return command.Caller{}, err
	}
	if !given {
		cookie, err := x.Request.Cookie(sessionCookie)
		if err != nil || len(cookie.Value) > maxCredential {
			return command.Caller{}, fault.New(fault.InvalidAPIKey, "No session was shown.")
		}
		raw = cookie.Value
	}
	person, err := x.edge.signIn(x.Request.Context(), raw, x.RequestID)
	if err != nil {
		return command.Caller{}, err
	}
	x.Caller = person.caller(x.RequestID)
	return x.Caller, nil
}
