// Package account decides the life of an account and its API keys, and how many
// sandboxes one address may open.
//
// # An account and one of its keys
//
//	state           | command   | next      | event
//	(none)          | Open      | open      | account.opened
//	(none)          | any       | unchanged | refused with resource_not_found
//	any             | Open      | unchanged | refused with resource_conflict
//	open            | IssueKey  | active    | account.key_issued
//	open            | RevokeKey | unchanged | refused with resource_not_found
//	active          | RevokeKey | revoked   | account.key_revoked
//	revoked         | RevokeKey | unchanged | (none)
//	active, revoked | IssueKey  | unchanged | refused with resource_conflict
//
// The first row that fits holds; "open" is an account without this key.
//
// A key past its expiry is active in the log and refused at the door (Key.Check).
// Only the SHA-256 of a secret is ever recorded.
//
// It may import the standard library and domain/fault, never a sibling aggregate.
package account
