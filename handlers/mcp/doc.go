// Package mcp is the agent tool endpoint /mcp: the operations of the API as tools of the Model Context
// Protocol, over Streamable HTTP and without sessions (docs/contract.md#agent-tools).
//
// # Layout
//
//	server.go   New: the handler, and what happens to each message
//	guard.go    which hosts and origins may send requests
//	tools.go    the table of tools: arguments, operation, result
//	schema.go   the schemas of arguments and results
//	call.go     one call of a tool: arguments -> request -> response
//	wait.go     wait_for_analysis
//	results.go  resources -> the small results that a model reads
//	picture.go  the contact sheet as an image
//	prompts.go  a prompt that clients offer to the person
//	errors.go   error envelope -> tool error with the next step
//	messages.go what the SDK cannot read or answers wrongly: Accept, ids, unknown methods, plain errors
//
// # A call is a request to the edge, in this process
//
// A tool makes an *http.Request for its operation and passes it to edge.Edge without a connection. The
// contract says that tools have the limits and errors of their operations. The edge has all of these:
// scopes, rates, admission, the schema of the body, idempotency, and the translation of errors. Calling
// the commands past the edge would repeat these checks here, and the copies would drift apart. The cost
// is to encode and decode one JSON document. BenchmarkToolCall measures it.
//
// # Guarantees
//
//   - A request is authenticated once, before its body is read. Each call of a tool in the body counts
//     against the limit of its operation, and each other request of the protocol as a read. A body
//     without any counts as one read. One body has at most 20 messages.
//   - The structured content of a result has the resources of the contract, such as an Analysis. The text
//     is JSON, too: the short form of an analysis or a video, or the same. Lists are never null. The short
//     form lists at most 10 clips and says how many there are.
//   - A failed call has the code of the registry and a request id, and says what to do next.
//   - A panic in a tool ends that call and nothing else.
//   - A call ends when its client disconnects, with every revision of the protocol.
//   - Schemas are open, so that a new member breaks no client. An unknown argument is refused, because
//     a call that ignores one may cost credits.
//
// # Imports
//
// It may import domain/fault, handlers/httpapi/edge, handlers/httpapi/api (the resources that it reads
// from responses) and the SDK of the protocol. It never imports handlers/command or projections.
package mcp
