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
// # A device code
//
//	device code              | command            | next      | event
//	(none)                   | Request            | pending   | device_code.requested
//	(none)                   | any                | unchanged | refused with resource_not_found
//	any                      | Request            | unchanged | refused with resource_conflict
//	pending                  | Approve            | approved  | device_code.approved
//	pending                  | Approve by another | approved  | device_code.approved
//	pending                  | Deny               | denied    | device_code.denied
//	pending                  | Consume            | unchanged | (none)
//	approved                 | Approve            | unchanged | (none)
//	approved                 | Consume            | consumed  | device_code.consumed
//	approved                 | any                | unchanged | refused with resource_conflict
//	denied, consumed, expired | any               | unchanged | refused with device_code_expired
//
// A code expires by time, DeviceCodeLife after its request; no event says so. An address
// holds at most MaxOpenClaims open codes, and an account misses at most MaxMissedCodes
// user codes in MissedCodesWindow.
//
// It may import the standard library and domain/fault, never a sibling aggregate.
package account
