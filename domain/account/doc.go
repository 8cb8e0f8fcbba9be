// Package account decides the life of an account and its API keys, and how many
// sandboxes one address may open.
//
// # An API key
//
//	state    | command   | next    | event
//	(none)   | IssueKey  | active  | account.key_issued
//	active   | RevokeKey | revoked | account.key_revoked
//	revoked  | RevokeKey | revoked | (none)
//	(none)   | RevokeKey | (none)  | refused with resource_not_found
//
// A key past its expiry is active in the log and refused at the door (Key.Check).
// Only the SHA-256 of a secret is ever recorded.
//
// It may import the standard library and domain/fault, never a sibling aggregate.
package account
