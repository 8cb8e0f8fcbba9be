package account

import (
	"slices"
	"strings"
)

// scopes are what a key may be limited to (open-points.md, "Keys, scopes, tokens").
var scopes = []string{
	"videos:read", "videos:write", "analyses:read", "analyses:write", "streams:read", "streams:create", "streams:signal",
	"webhooks:read", "webhooks:write", "usage:read", "keys:write",
}

// tokenScopes are what a client token may be limited to (api-v1.md, "Client tokens").
var tokenScopes = []string{"videos:write", "analyses:read", "analyses:write", "streams:create", "streams:signal"}

// Scopes lists the scopes of API keys.
func Scopes() []string { return slices.Clone(scopes) }

// ClientTokenScopes lists the scopes of client tokens.
func ClientTokenScopes() []string { return slices.Clone(tokenScopes) }

// Allows reports whether granted scopes include one: nil is every scope, an empty wish
// is always granted, and reading comes with writing or creating.
func Allows(granted []string, wanted string) bool {
	if wanted == "" || granted == nil || slices.Contains(granted, wanted) {
		return true
	}
	resource, isRead := strings.CutSuffix(wanted, ":read")
	return isRead && (slices.Contains(granted, resource+":write") || slices.Contains(granted, resource+":create"))
}

// Exceeding returns the first of the wanted scopes that the granted ones do not
// include, or "" when they include all.
func Exceeding(granted, wanted []string) string {
	for _, scope := range wanted {
		if !Allows(granted, scope) {
			return scope
		}
	}
	return ""
}
