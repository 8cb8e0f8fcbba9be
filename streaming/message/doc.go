// Package message has the messages of signaling (docs/contract.md#signaling): a Go type for each message
// of the client and of the service, and their JSON form.
//
// Decode reads what a client sent and is strict. A message is one JSON object of at most MaxOffer bytes.
// Repeated, unknown and missing members, wrong types and values that are too long are refused. The error
// is a *fault.Fault that names the member. Encode writes "type" as the first member.
//
// It may import the standard library, domain and the JSON parser, so the session, the socket and the
// tests share it without knowing each other.
package message
