// Package oauth has the rules of the authorization server for agents (docs/contract.md#oauth). The rules
// read no clock, no network and no database. Package server has the endpoints.
//
//	errors.go         the errors of OAuth 2.1
//	pkce.go           the proof of the client that began (RFC 7636)
//	redirect.go       which addresses a client may be redirected to (RFC 8252)
//	client.go         what a client says about itself (RFC 7591, Client ID Metadata Documents)
//	authorization.go  the request to the person, and the redirect after it (RFC 8707, RFC 9207)
//	metadata.go       the documents that clients discover (RFC 8414, RFC 9728)
//
// # Guarantees
//
//   - Only the code flow with PKCE S256 exists. A request without a challenge is refused.
//   - A redirect address equals a registered one in each byte. Only the port of a loopback address or of
//     localhost may differ, because native programs choose it at their start.
//   - An address that runs a script or reads a file is refused, also at registration.
//   - An authorization is for the agent tool endpoint and no other resource.
//   - A repeated parameter is refused, so that two readers of a request cannot read different values.
//
// # Imports
//
// It imports the standard library and go-json-experiment/json, which refuses repeated members.
package oauth
