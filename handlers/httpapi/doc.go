// Package httpapi is the HTTP interface: the contract file, the server generated from it
// (package api), and the operations.
//
// # Layout
//
//	openapi.yaml  the contract
//	server.go     New: the operations behind the edge
//	analyses.go, videos.go, keys.go, …
//	              the operations, one file for each group
//	follow.go     how operations wait for changes of an analysis
//	stream.go     every stream of server-sent events: its limit, life and credential
//	pages.go, claim.go
//	              the operations that answer with a page
//	recreate.go   the response of a request whose first response was not stored
//	render.go     state -> resource
//	edge/         checks every request before its operation
//	pages/        renders the HTML pages
//	api/          the generated server: types, routing, parameter binding
//	reference/    the files that render the contract
//
// A request passes the edge, then the generated server, then its operation: it calls a use
// case (handlers/command) or a reader (projections), and renders the state that comes back.
// This package imports edge and pages; they never import it.
//
// # Guarantees
//
//   - openapi.yaml is the one description of the interface: bodies are validated
//     against it, scopes and idempotent operations are read from it, and the tests
//     validate every response against it.
//   - docs/authentication.md shows the response of every operation to every credential. A
//     test writes and compares it.
//   - The feed of events has no gaps and contains each event once, across reconnects and
//     late commits (projections/public).
//   - changelog.yaml lists what is deprecated, and responses say so in their headers. A
//     test compares it with the marks in the contract. Pages load nothing from another host.
//   - The claim page accepts a cookie, so a request alone proves no intent: a form must come
//     from this origin and carry a token that is bound to account and code. No script runs
//     on the page, and no other site may frame it.
//
// # Imports
//
// It may import domain, handlers/command, handlers/intake/demo (the scenes that it lists),
// handlers/objects (the signed URLs that a resource carries), handlers/wire (how slow
// a client may be) and the readers of the projections. It never contains SQL.
package httpapi
