// Package httpapi is the HTTP edge: the contract file, the server generated from it
// (package api), and what stands between a request and a use case.
//
// # A request, read downwards
//
//	edge.go         request id, access log, panics, routing by the contract
//	contract.go     the operation: its scope, its body, whether it is idempotent
//	auth.go         who asks, and whether the operation is in the key's scopes
//	idempotency.go  whether the request was carried out before
//	json.go         the body as strict JSON
//	body.go         the body against the contract, then the rules of its operation
//	api             parameter binding; parameters.go has the rules it lacks
//	analyses.go, …  the use case or reader of the operation; follow.go waits for changes
//	claim.go        the page on which a person approves a key; claim_form.go has its form
//	render.go       state -> resource
//	errors.go       fault -> error envelope; nothing else writes an error
//
// # Guarantees
//
//   - openapi.yaml is the one description of the interface: bodies are validated
//     against it, scopes and idempotent operations are read from it, and the tests
//     validate every response against it.
//   - Every response carries X-Request-Id, and every response outside 2xx is the
//     envelope of the contract with a code of the closed registry. What went wrong
//     inside is logged and never shown.
//   - All violations of a body are reported at once. A code that the contract names
//     for one of them (prompt_empty, video_too_large, …) wins over
//     validation_failed; errors[] lists all of them in either case.
//   - An id of another account reads exactly as an unknown one.
//   - Secrets, headers and query strings are never logged; a path that holds a secret
//     is logged as its pattern.
//   - The claim page takes a cookie, and so trusts no request for it: a form must come
//     from this origin and carry a token bound to account and code. No script runs on
//     the page, and no other site frames it.
//
// It may import domain, handlers/command, handlers/media/objects (the signed URLs
// that a resource carries), the projections' readers and chi. It never sees SQL.
package httpapi
