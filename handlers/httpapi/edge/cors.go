package edge

import (
	"net/http"
	"strings"
)

// What a page of another origin may send, and read, where it may call at all.
const (
	corsRequestHeaders = "Authorization, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID, Prefer"
	corsExposedHeaders = "X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, ETag, " +
		"Idempotency-Replayed, Preference-Applied, Deprecation, Sunset, Link"
	// corsMaxAge is how many seconds a browser may remember a preflight.
	corsMaxAge = "600"
)

// openToBrowsers reports whether a page of any origin may call an operation: the product
// plane, where client tokens are accepted (api-v1.md, "Authentication", 4), and what
// anyone may read of this API. No cookie takes part, so that a page gains nothing from
// whoever looks at it. Keys, credits and the claim page stay closed: a page that holds
// an API key has lost it.
func openToBrowsers(method string, op *operation) bool {
	ofAPI := op.path == "/" || strings.HasPrefix(op.path, "/v1/") || strings.HasPrefix(op.path, "/.well-known/")
	return op.product || op.public && !op.secretPath && method == http.MethodGet && ofAPI
}

// setCORS lets a page of another origin read the response of an open operation, errors
// too.
func setCORS(h http.Header) {
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", corsExposedHeaders)
}

// preflight answers a browser that asks whether a page may send a request, and reports
// whether it did. A path with no open operation has no answer of its own: it refuses
// OPTIONS as any method that it does not have.
func (e *Edge) preflight(w http.ResponseWriter, r *http.Request, path string) bool {
	if r.Method != http.MethodOptions {
		return false
	}
	var open []string
	for _, method := range methods {
		if op := e.Contract.match(method, path); op != nil && openToBrowsers(method, op) {
			open = append(open, method)
		}
	}
	if len(open) == 0 {
		return false
	}
	h := w.Header()
	setCORS(h)
	h.Set("Allow", strings.Join(append(open, http.MethodOptions), ", "))
	h.Set("Access-Control-Allow-Methods", strings.Join(open, ", "))
	h.Set("Access-Control-Allow-Headers", corsRequestHeaders)
	h.Set("Access-Control-Max-Age", corsMaxAge)
	w.WriteHeader(http.StatusNoContent)
	return true
}
