// Package account decides the life of an account and its API keys, and how many
// sandboxes one address may open.
//
// # An account and one of its keys
//
//	state                     | command   | next      | event
//	(none)                    | Open      | open      | account.opened
//	(none)                    | any       | unchanged | refused with resource_not_found
//	any                       | Open      | unchanged | refused with resource_conflict
//	open                      | IssueKey  | active    | account.key_issued
//	open                      | MintKey   | active    | account.key_issued
//	open                      | any       | unchanged | refused with resource_not_found
//	active                    | RotateKey | replaced  | account.key_issued, account.key_replaced
//	active, replaced          | UseKey    | unchanged | account.key_used
//	active, replaced          | RevokeKey | revoked   | account.key_revoked
//	revoked                   | RevokeKey | unchanged | (none)
//	revoked                   | UseKey    | unchanged | (none)
//	active, replaced, revoked | any       | unchanged | refused with resource_conflict
//
// The first row that fits applies. "open" is an account without this key. An expired key
// stays active in the log; Key.Check refuses it.
//
// # Keys
//
// A key cannot create a key with more rights than it has. The new key has the same mode,
// tier and fixed end, and at most the same scopes. A test key ends TestKeyLife after its
// issue. The key of an upgraded account ends UpgradedKeyIdle after its last use (Key.End).
// A rotated key works for rotationOverlap, but never beyond its own end. An account has at
// most 100 active keys.
//
// # Plan and access of an account
//
//	plan             | command | next       | event
//	sandbox          | Upgrade | free_grant | account.upgraded
//	free_grant, paid | Upgrade | unchanged  | refused with resource_conflict
//
//	access     | command    | next       | event
//	admitted   | Restrict   | restricted | account.restricted
//	restricted | Unrestrict | admitted   | account.unrestricted
//	any        | any        | unchanged  | (none)
//
// Three limits apply to an upgrade: per address (UpgradeQuota), per day (UpgradeDay), and
// once per account at the identity provider (IdentityClaim).
//
// # The account of a person who signs in
//
//	owner   | command           | next      | event
//	(none)  | any               | person    | account.opened, account.signed_up
//	person  | SignUp            | unchanged | (none)
//	person  | SignUp by another | unchanged | refused with resource_conflict
//	unowned | any               | unchanged | refused with resource_conflict
//
// The id of the account is derived from the person (OwnedID), and only a hash of the person
// is stored. "unowned" is an account that an operator or a sandbox opened.
//
// # A client token
//
//	client token | command | next      | event
//	(none)       | Mint    | minted    | client_token.minted
//	minted       | Mint    | unchanged | refused with resource_conflict
//
// A token ends with its key, or at most MaxClientTokenLife after it was minted. No event
// records the end. Its scopes are a subset of those of its key (exceeding).
//
// Events contain only the SHA-256 of a secret.
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
// A code expires DeviceCodeLife after its request. No event records that. An address has at
// most MaxOpenClaims open codes. An account can enter at most MaxMissedCodes wrong user
// codes in MissedCodesWindow.
//
// # A session of a person
//
//	session               | command           | next      | event
//	(none)                | Open              | active    | session.opened
//	(none)                | any               | unchanged | refused with resource_not_found
//	any                   | Open              | unchanged | refused with resource_conflict
//	any                   | Revoke by another | unchanged | refused with resource_not_found
//	active                | Refresh           | active    | session.refreshed
//	active                | End               | ended     | session.ended
//	active                | Revoke            | revoked   | session.revoked
//	ended, revoked, idle  | any               | unchanged | (none)
//
// A session is idle SessionIdle after its last use, and ends SessionLife after it was opened. No
// event records that. A use within 15 minutes of the last one is not recorded. A proof opens one
// session at most, because the id of the session follows from it (SessionIDFor).
//
// # A one-time link
//
//	link          | command | next      | event
//	(none)        | Create  | valid     | signin_link.created
//	(none)        | any     | unchanged | refused with invalid_api_key
//	any           | Create  | unchanged | refused with resource_conflict
//	valid         | Use     | used      | signin_link.used
//	used, expired | Use     | unchanged | refused with invalid_api_key
//
// # The passkeys of an account
//
//	passkey | command       | next      | event
//	(none)  | Register      | known     | passkey.registered
//	(none)  | any           | unchanged | refused with resource_not_found
//	known   | Register      | unchanged | refused with resource_conflict
//	known   | Use           | known     | passkey.used
//	known   | Use of a copy | unchanged | refused with invalid_api_key
//	known   | Remove        | (none)    | passkey.removed
//
// An account has at most MaxPasskeys. A copy is a passkey whose counter did not grow.
//
// It may import the standard library, domain/fault, domain/id and ulid, never a sibling
// aggregate.
package account
