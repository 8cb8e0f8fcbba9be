package httpapi

import (
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/handlers/command"
)

// authenticate finds out who asks (api-v1.md, "Authentication"). Errors:
// invalid_api_key, key_revoked, key_expired, insufficient_scope.
func (e *edge) authenticate(x *exchange, r *http.Request) error {
	secret, ok := bearer(r.Header)
	if !ok || !account.LooksLikeKey(secret) {
		return fault.New(fault.InvalidAPIKey, "")
	}
	hash := account.HashSecret(secret)
	key, found, err := e.Resources.Key(r.Context(), hash)
	if err != nil {
		return err
	}
	if !found || subtle.ConstantTimeCompare([]byte(key.SecretHash), []byte(hash)) != 1 {
		return fault.New(fault.InvalidAPIKey, "")
	}
	if err := key.Check(e.Service.Now()); err != nil {
		return err
	}
	x.caller = command.Caller{
		AccountID: key.AccountID, KeyID: key.ID, Livemode: key.Livemode(), Tier: key.Tier, RequestID: x.requestID,
	}
	if !allows(key.Scopes, x.operation.scope) {
		return fault.Newf(fault.InsufficientScope, "This operation needs the scope %s.", x.operation.scope)
	}
	return nil
}

// bearer returns the credential of the one Authorization header.
func bearer(h http.Header) (string, bool) {
	values := h.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, credential, ok := strings.Cut(values[0], " ")
	credential = strings.Trim(credential, " ")
	return credential, ok && strings.EqualFold(scheme, "Bearer") && credential != ""
}

// allows reports whether the scopes of a key include one: nil is every scope, and a
// write scope brings its read scope (open-points.md, "Keys, scopes, tokens").
func allows(scopes []string, wanted string) bool {
	if wanted == "" || scopes == nil || slices.Contains(scopes, wanted) {
		return true
	}
	resource, isRead := strings.CutSuffix(wanted, ":read")
	return isRead && slices.Contains(scopes, resource+":write")
}
