// Package httpapi is the HTTP edge: the contract file, the server generated from it
// (package api), and what stands between a request and a use case.
//
// # A request, read downwards
//
//	edge.go         request id, access log, panics, routing by the contract
//	contract.go     the operation: its scope, its parameters, its body
//	cors.go         whether a page of another origin may ask
//	deprecation.go  whether it uses what the changelog calls deprecated
//	auth.go         who asks, and whether the operation is open to them
//	limits.go       how many requests they made in the last minute, over all nodes
//	parameters.go   the query and the headers against the contract
//	idempotency.go  whether the request was carried out before, or runs just now; sealed.go
//	                keeps the responses that show a secret
//	room.go         how much of a body the contract can accept
//	json.go         the body as strict JSON, as far as there is room for it
//	body.go         the body against the contract, then the rules of its operation
//	api             parameter binding
//	analyses.go, …  the use case or reader of the operation; follow.go waits for changes
//	stream.go       every stream of server-sent events: its limit, life and credential
//	docs.go, …      the pages for people; docs_assets.go has what renders the contract
//	render.go       state -> resource
//	etag.go         whether the client has the response already
//	errors.go       fault -> error envelope; nothing else writes an error
//	refuse.go       the envelope for what net/http refuses before any of this
//
// # Guarantees
//
//   - openapi.yaml is the one description of the interface: bodies are validated
//     against it, scopes and idempotent operations are read from it, and the tests
//     validate every response against it.
//   - Every response carries X-Request-Id, and every response outside 2xx is the
//     envelope of the contract with a code of the closed registry. What went wrong
//     inside is logged and never shown.
//   - Every response says how many requests are left, and each 429 and 503 when to come
//     again. Without a database a node counts alone.
//   - Equal requests with one Idempotency-Key are carried out once, whatever nodes they
//     come to; while one runs the others are told so.
//   - All violations of the query, the headers and the body are reported at once. A code
//     that the contract names for one of them (prompt_empty, video_too_large, …) wins
//     over validation_failed; errors[] lists all of them in either case.
//   - An id of another account reads exactly as an unknown one, and for a bound client
//     token whatever lies beyond its video.
//   - docs/authentication.md has the answer of every operation to every credential, as a
//     test got it.
//   - The feed of events has no gaps and tells each event once, across reconnects and
//     whatever commits late (projections/public).
//   - What is deprecated is in changelog.yaml, and responses say so: a test holds the
//     contract's marks against it. Pages load nothing from another host.
//   - Secrets, headers and query strings are never logged; a path that holds a secret
//     is logged as its pattern.
//   - The claim page takes a cookie, and so trusts no request for it: a form must come
//     from this origin and carry a token bound to account and code. No script runs on
//     the page, and no other site frames it.
//
// It may import domain, handlers/command, handlers/media/demo (the scenes that it lists),
// handlers/media/objects (the signed URLs that a resource carries), handlers/wire (how slow
// a client may be), the projections' readers and chi. It never sees SQL.
package httpapi
