package account

import (
	"slices"
	"strings"
)

// scopes are the scopes of API keys (docs/contract.md#scopes).
var scopes = []string{
	"videos:read", "videos:write", "analyses:read", "analyses:write", "streams:read", "streams:create", "streams:signal",
	"webhooks:read", "webhooks:write", "usage:read", "keys:write",
}

// tokenScopes are the scopes of client tokens (docs/contract.md#client-tokens).
var tokenScopes = []string{"videos:write", "analyses:read", "analyses:write", "streams:create", "streams:signal"}

// Scopes lists the scopes of API keys.
func Scopes() []string { return slices.Clone(scopes) }

// Allows reports whether the granted scopes include the wanted one. nil grants every scope.
// An empty wanted scope is always granted. A write or create scope includes reading.
func Allows(granted []string, wanted string) bool {
	if wanted == "" || granted == nil || slices.Contains(granted, wanted) {
		return true
	}
	resource, isRead := strings.CutSuffix(wanted, ":read")
	return isRead && (slices.Contains(granted, resource+":write") || slices.Contains(granted, resource+":create"))
}

// exceeding returns the first wanted scope that the granted scopes do not include, or "".
func exceeding(granted, wanted []string) string {
	for _, scope := range wanted {
		if !Allows(granted, scope) {
			return scope
		}
	}
	return ""
}
