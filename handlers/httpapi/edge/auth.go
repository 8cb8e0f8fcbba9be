package edge

import (
	"context"
	"crypto/subtle"
	"net/http"
	"strings"
	"time"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/handlers/command"
)

// maxCredential is the longest credential that is looked at, in bytes: many times that
// of a session with many claims.
const maxCredential = 8 << 10

// authenticate finds out who asks and whether the operation is open to them (api-v1.md,
// "Authentication"). Where a credential is optional, one that is shown must be good.
// Errors: invalid_api_key, key_revoked, key_expired, token_expired, account_restricted,
// insufficient_scope, upstream_error.
func (e *Edge) authenticate(x *Exchange, r *http.Request) error {
	credential, given, err := bearer(r.Header)
	if err != nil {
		return err
	}
	if !given {
		if x.operation.optional {
			return nil
		}
		return fault.New(fault.InvalidAPIKey, "")
	}
	x.shown, x.credential = true, credential
	caller, err := e.callerOf(r.Context(), x, credential)
	if err != nil {
		return err
	}
	x.Caller = caller
	x.Recheck = func(ctx context.Context) error {
		again, err := e.callerOf(ctx, x, credential)
		if err != nil {
			return err
		}
		return mayCall(again, x.operation)
	}
	return mayCall(caller, x.operation)
}

// callerOf finds out who shows a credential.
func (e *Edge) callerOf(ctx context.Context, x *Exchange, credential string) (command.Caller, error) {
	switch {
	case account.LooksLikeKey(credential):
		return e.callerOfKey(ctx, x, credential)
	case account.LooksLikeClientToken(credential):
		return e.callerOfToken(ctx, x, credential)
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
	return keyCaller(key, x.RequestID), nil
}

// callerOfToken takes a client token for what its key may do within the token's bounds:
// a token ends with its key.
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
	caller := keyCaller(key, x.RequestID)
	caller.TokenID, caller.Scopes = token.ID, token.Scopes
	caller.VideoID, caller.StreamID = token.VideoID, token.StreamID
	return caller, nil
}

// useKey refuses a key that does not open the door now, also when a client token stands
// for it, and notes the use of one that does. The holder of a legacy key is told that it
// is deprecated. Errors: invalid_api_key for a legacy key whose window is over,
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
		e.deprecations.tell(x.response.Header(), DeprecatedLegacyKeys, end)
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

// sameHash compares in constant time, as the index that found the row did not.
func sameHash(stored, shown string) bool {
	return subtle.ConstantTimeCompare([]byte(stored), []byte(shown)) == 1
}

// mayCall refuses a caller whom the operation is not open to: insufficient_scope.
func mayCall(caller command.Caller, op *operation) error {
	if caller.TokenID != "" && !op.product {
		return fault.New(fault.InsufficientScope, "A client token is not accepted here.")
	}
	if !account.Allows(caller.Scopes, op.scope) {
		return fault.Newf(fault.InsufficientScope, "This operation needs the scope %s.", op.scope)
	}
	return nil
}

// bearer returns the credential of the Authorization header, and whether there is such
// a header. Error: invalid_api_key for one that is not a single bearer credential.
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
		return "", true, fault.New(fault.InvalidAPIKey, "The Authorization header must be one `Bearer <credential>`.")
	}
	return credential, true, nil
}

// challenge tells a client what its credential lacks (RFC 6750, section 3).
func challenge(h http.Header, x *Exchange, f *fault.Fault) {
	switch status := fault.Lookup(f.Code).Status; {
	case status == http.StatusUnauthorized && x.shown && f.Code != fault.ForgeTokenInvalid:
		h.Set("WWW-Authenticate", `Bearer error="invalid_token", error_description="`+string(f.Code)+`"`)
	case status == http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case f.Code == fault.InsufficientScope && x.operation != nil && x.operation.scope != "":
		h.Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+x.operation.scope+`"`)
	case f.Code == fault.InsufficientScope && x.shown:
		h.Set("WWW-Authenticate", `Bearer error="insufficient_scope"`)
	}
}
