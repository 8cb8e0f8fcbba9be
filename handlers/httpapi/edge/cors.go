package edge

import (
	"net/http"
	"strings"
)

// The headers that a page of another origin may send and read.
const (
	corsRequestHeaders = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Prefer"
	corsExposedHeaders = "X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, ETag, " +
		"Location, Idempotency-Replayed, Preference-Applied, Deprecation, Sunset, Link, VQA-Ledger-Checkpoint"
	// corsMaxAge is how many seconds a browser may cache a preflight response.
	corsMaxAge = "600"
)

// openToBrowsers reports whether a page of any origin may call an operation: the operations
// that accept client tokens (docs/contract.md#auth-4), and the public reads of the API.
// None of them uses cookies, so a page cannot use the credentials of its visitor. Keys,
// credits and the claim page stay closed: an API key must not be in a web page.
func openToBrowsers(method string, op *operation) bool {
	ofAPI := op.path == "/" || strings.HasPrefix(op.path, "/v1/") || strings.HasPrefix(op.path, "/.well-known/")
	return op.product || op.public && !op.secretPath && method == http.MethodGet && ofAPI
}

// setCORS lets a page of another origin read the response, including an error.
func setCORS(h http.Header) {
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", corsExposedHeaders)
}

// preflight answers a CORS preflight request and reports whether it did. A path without an
// operation for browsers gets no preflight answer: OPTIONS is then an unknown method.
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
