// Package server is the authorization server for agents: the endpoints of OAuth 2.1 and the pages on which a person
// allows and revokes programs (docs/contract.md#oauth).
//
//	server.go     the paths, and who may read their responses
//	authorize.go  the consent page and its decision
//	token.go      codes and refresh tokens -> access tokens; revocation
//	register.go   dynamic registration
//	clients.go    clients by their id: registered ones, and those with a metadata document
//	documents.go  fetches and caches metadata documents
//	account.go    the page of a person's permissions
//
// # Guarantees
//
//   - A person decides each time. Earlier permissions are not remembered, so no client gets one silently.
//   - The page of a decision has one use, belongs to one session, and cannot be framed or sent by another site.
//   - Nothing redirects to a client before a signed-in person has decided. Errors are shown on a page.
//   - A metadata document is fetched for a signed-in person only, by the guarded client, without redirects and with
//     at most 5 KiB. A failure is not cached.
//   - Secrets are in responses only: never in a log, an event or an error.
//
// # Imports
//
// It may import domain/fault, domain/grant, domain/credit, domain/id, handlers/command, handlers/oauth,
// handlers/httpapi/edge, handlers/httpapi/pages and decimal. It reads through interfaces.
package server
