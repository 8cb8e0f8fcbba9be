// Package edge checks every request before its operation runs.
//
// # A request, from top to bottom
//
//	edge.go         request id, access log, panics, routing by the contract
//	contract.go     the operation: its scope, its parameters, its body
//	cors.go         whether a page of another origin may call it
//	deprecation.go  whether it uses something deprecated
//	spent.go        whether a client that was refused by rate has waited
//	admission.go    whether the node has a place for one more live create
//	auth.go         who calls, and whether they may (session.go for people)
//	proven.go       whether the rows of the credential agree with their events
//	passing.go      whether another node passed the request on, and for which caller
//	limits.go       how many requests they made in the last minute, over all nodes
//	parameters.go   the query and the headers against the contract
//	idempotency.go  whether the request was carried out before, or runs just now; sealed.go
//	                encrypts the stored responses that show a secret
//	bounds.go       the largest body that the contract can accept
//	json.go         the body as strict JSON within these bounds
//	body.go         the body: its type and size, the contract, the rules of its operation
//	people.go       requests to the pages on which people sign in; session_own.go checks their sessions
//	tools.go        requests to the agent tool endpoint, and the operations that its tools carry out
//	api             parameter binding, then the operation
//	etag.go         whether the client has the response already
//	errors.go       fault -> error envelope; nothing else writes an error
//	refuse.go       the envelope for what net/http refuses before any of this
//
// # Guarantees
//
//   - Every response carries X-Request-Id. Every response outside 2xx is the envelope of
//     the contract with a code of the closed registry. The pages of people redirect, and show
//     the message of the envelope as a page. Internal causes are logged and
//     never shown.
//   - A row of a key, a token, a session, a grant or an account counts only as far as the events of its stream say
//     the same. A row that somebody else wrote gives no rights. A row that somebody put back works for a minute.
//   - Every response says how many requests are left, and each 429 and 503 says when to
//     try again. Without a database a node counts by itself.
//   - A live create beyond the capacity of the node is refused with capacity_exhausted before
//     the database is used. Reads and test mode are never shed.
//   - Equal requests with one Idempotency-Key are carried out once across all nodes. While
//     one runs, the others get idempotency_unavailable.
//   - All violations of the query, the headers and the body are reported at once. A code
//     that the contract names for one of them (prompt_empty, video_too_large, …) replaces
//     validation_failed; errors[] lists all of them in either case.
//   - The id of another account gets the same response as an unknown id. A bound client
//     token cannot find out whether a resource outside its video exists.
//   - Secrets, headers and query strings are never logged. A path that holds a secret is
//     logged as its pattern.
//
// # Imports
//
// It may import domain, eventstore, handlers/command, handlers/httpapi/api,
// handlers/objects (the path of signed URLs), handlers/wire (how slow a client may
// be), projections/resources (the tenant of a caller) and chi. It never imports httpapi.
package edge
