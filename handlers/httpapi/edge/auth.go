package edge

import (
	"context"
	"crypto/subtle"
	"net/http"
	"net/url"
	"strings"
	"time"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/grant"
	"vqa/handlers/command"
)

// maxCredential is the longest accepted credential in bytes: many times the size of a
// session token with many claims.
const maxCredential = 8 << 10

// authenticate finds the caller of a request and checks that they may use the operation
// (docs/contract.md#auth-1). An optional credential must be valid if it is present.
// Errors: invalid_api_key, key_revoked, key_expired, token_expired, account_restricted,
// insufficient_scope, upstream_error.
func (e *Edge) authenticate(x *Exchange, r *http.Request) error {
	if s, passed := passedOn(r); passed {
		x.Caller = s.Caller
		x.Caller.RequestID = x.RequestID
		return authorize(x.Caller, x.operation)
	}
	credential, given, err := x.operation.bearer(r)
	if err != nil {
		return err
	}
	if !given {
		if x.operation.optional {
			return nil
		}
		return x.operation.uncredentialed()
	}
	x.credential = credential
	caller, granted := x.granted(r.Context(), credential)
	if !granted {
		if caller, err = e.callerOf(r.Context(), x, credential); err != nil {
			return err
		}
	}
	if err := e.checkOrigin(x, r); err != nil {
		return err
	}
	x.Caller = caller
	x.Recheck = func(ctx context.Context) error {
		again, err := e.callerOf(ctx, x, credential)
		if err != nil {
			return err
		}
		return authorize(again, x.operation)
	}
	return authorize(caller, x.operation)
}

// callerOf returns the caller that a credential belongs to.
func (e *Edge) callerOf(ctx context.Context, x *Exchange, credential string) (command.Caller, error) {
	switch {
	case account.LooksLikeKey(credential):
		return e.callerOfKey(ctx, x, credential)
	case account.LooksLikeClientToken(credential):
		return e.callerOfToken(ctx, x, credential)
	case grant.LooksLikeAccessToken(credential):
		return e.callerOfAgent(ctx, x, credential)
	case looksLikeSession(credential):
		s, err := e.signIn(ctx, credential, x.RequestID)
		if err != nil {
			return command.Caller{}, err
		}
		return s.caller(x.RequestID), nil
	default:
		return command.Caller{}, fault.New(fault.InvalidAPIKey, "")
	}
}

func (e *Edge) callerOfKey(ctx context.Context, x *Exchange, secret string) (command.Caller, error) {
	hash := account.HashSecret(secret)
	key, found, err := e.Accounts.Key(ctx, hash)
	if err != nil {
		return command.Caller{}, err
	}
	if !found || !sameHash(key.SecretHash, hash) {
		return command.Caller{}, fault.New(fault.InvalidAPIKey, "")
	}
	if err := e.useKey(x, key); err != nil {
		return command.Caller{}, err
	}
	e.subjects.remember(hash, key.ID)
	return keyCaller(key, x.RequestID), nil
}

// callerOfToken returns the caller of a client token. The token works only as long as the
// key that created it, and only within its own scopes and binding.
func (e *Edge) callerOfToken(ctx context.Context, x *Exchange, secret string) (command.Caller, error) {
	hash := account.HashSecret(secret)
	token, key, found, err := e.Accounts.ClientToken(ctx, hash)
	if err != nil {
		return command.Caller{}, err
	}
	if !found || !sameHash(token.SecretHash, hash) {
		return command.Caller{}, fault.New(fault.InvalidAPIKey, "")
	}
	if err := token.Check(e.Service.Now()); err != nil {
		return command.Caller{}, err
	}
	if err := e.useKey(x, key); err != nil {
		return command.Caller{}, err
	}
	e.subjects.remember(hash, key.ID)
	caller := keyCaller(key, x.RequestID)
	caller.TokenID, caller.Scopes = token.ID, token.Scopes
	caller.VideoID, caller.StreamID = token.VideoID, token.StreamID
	return caller, nil
}

// useKey refuses a key that is not valid now and records the use of a valid one. It also
// checks the key behind a client token. Responses to a legacy key say that the key is
// deprecated. Errors: invalid_api_key for a legacy key after the end of legacy keys,
// key_revoked, key_expired, account_restricted.
func (e *Edge) useKey(x *Exchange, key account.Key) error {
	now := e.Service.Now()
	if err := e.LegacyKeys.Check(key, now); err != nil {
		return err
	}
	if err := key.Check(now); err != nil {
		return err
	}
	if key.Legacy {
		end, known := e.LegacyKeys.End()
		if !known {
			end = time.Time{}
		}
		e.deprecations.addByID(x.response.Header(), DeprecatedLegacyKeys, end)
	}
	if e.KeyUsed != nil {
		e.KeyUsed(key, x.RequestID)
	}
	return nil
}

func keyCaller(key account.Key, requestID string) command.Caller {
	return command.Caller{
		AccountID: key.AccountID, KeyID: key.ID, Livemode: key.Livemode(), Tier: key.Tier, Scopes: key.Scopes, RequestID: requestID,
	}
}

// sameHash compares in constant time. The index lookup that found the row did not.
func sameHash(stored, given string) bool {
	return subtle.ConstantTimeCompare([]byte(stored), []byte(given)) == 1
}

// authorize checks that a caller may use an operation. Error: insufficient_scope.
func authorize(caller command.Caller, op *operation) error {
	if caller.TokenID != "" && !op.product {
		return fault.New(fault.InsufficientScope, "This operation does not accept client tokens. Use an API key.")
	}
	if !account.Allows(caller.Scopes, op.scope) {
		return fault.Newf(fault.InsufficientScope, "This operation requires the scope %s.", op.scope)
	}
	return nil
}

// bearer returns the credential of the Authorization header, and whether the request has
// that header. Error: invalid_api_key if the header is not one bearer credential.
func bearer(h http.Header) (credential string, given bool, err error) {
	values := h.Values("Authorization")
	if len(values) == 0 {
		return "", false, nil
	}
	scheme, credential, _ := strings.Cut(values[0], " ")
	credential = strings.Trim(credential, " ")
	bad := len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || credential == "" || len(credential) > maxCredential ||
		strings.ContainsFunc(credential, func(c rune) bool { return c <= ' ' || c > '~' })
	if bad {
		return "", true, fault.New(fault.InvalidAPIKey, "Send one Authorization header of the form `Bearer <credential>`.")
	}
	return credential, true, nil
}

// bearer returns the credential of a request for the operation. That of a WebSocket may be the parameter
// token, because a browser sends no headers with it. An API key is refused there: it must not be in a web page
// or in a URL.
func (op *operation) bearer(r *http.Request) (credential string, given bool, err error) {
	credential, given, err = bearer(r.Header)
	if !op.socket || err != nil {
		return credential, given, err
	}
	if tokens := r.URL.Query()["token"]; !given && len(tokens) > 0 {
		credential, given, err = bearer(http.Header{"Authorization": {"Bearer " + tokens[0]}})
		if err != nil || len(tokens) > 1 {
			return "", true, fault.New(fault.InvalidAPIKey, "Send one client token or session in `token`.").WithParam("token")
		}
	}
	if account.LooksLikeKey(credential) {
		return "", true, fault.New(fault.InvalidAPIKey, "A WebSocket does not accept an API key. Create a client token with POST /v1/client_tokens.").WithParam("token")
	}
	return credential, given, nil
}

// uncredentialed is the refusal of a request without a credential.
func (op *operation) uncredentialed() error {
	if op.socket {
		return fault.New(fault.InvalidAPIKey, "The client token is missing. Send one with the scope streams:signal in the query parameter `token`.").WithParam("token")
	}
	return fault.New(fault.InvalidAPIKey, "")
}

// checkOrigin refuses a session on a WebSocket that a page of another origin opens: sessions are for the pages
// of this service. A page of any origin may have a client token (docs/contract.md#auth-4). Error:
// insufficient_scope.
func (e *Edge) checkOrigin(x *Exchange, r *http.Request) error {
	origin := r.Header.Get("Origin")
	if !x.operation.socket || !looksLikeSession(x.credential) || origin == "" {
		return nil
	}
	if own, err := url.Parse(e.PublicURL); err == nil && origin == own.Scheme+"://"+own.Host {
		return nil
	}
	return fault.Newf(fault.InsufficientScope, "A session works only on pages of this service, not of %.200q. Use a client token.", origin)
}

// challenge sets WWW-Authenticate, which says why a credential was refused (RFC 6750,
// section 3).
func challenge(h http.Header, x *Exchange, f *fault.Fault) {
	defer x.advertise(h)
	switch status := fault.Lookup(f.Code).Status; {
	case status == http.StatusUnauthorized && x.credential != "" && f.Code != fault.ForgeTokenInvalid:
		h.Set("WWW-Authenticate", `Bearer error="invalid_token", error_description="`+string(f.Code)+`"`)
	case status == http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case f.Code == fault.InsufficientScope && x.operation != nil && x.operation.scope != "":
		h.Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+x.operation.scope+`"`)
	case f.Code == fault.InsufficientScope && x.credential != "":
		h.Set("WWW-Authenticate", `Bearer error="insufficient_scope"`)
	}
}
