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
// The first row that fits holds; "open" is an account without this key. A key past its expiry is active in the log and refused at the
// door (Key.Check).
//
// # Keys
//
// A key hands on what it is and never more: one that it mints or is rotated to has its
// mode, tier and scopes at most, and its fixed end. Test keys end TestKeyLife after
// their issue, those of an upgrade UpgradedKeyIdle after their last use (Key.End). A
// rotated key goes on for RotationOverlap, never beyond its own end. An account has at
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
// An upgrade is bounded by the address (UpgradeQuota), by the day (UpgradeDay) and by
// the person's account at the provider of identities, which counts once, ever
// (IdentityClaim).
//
// # The account of a person who signs in
//
//	owner  | command           | next      | event
//	(none) | any               | person    | account.opened, account.signed_up
//	person | SignUp            | unchanged | (none)
//	person | SignUp by another | unchanged | refused with resource_conflict
//	nobody | any               | unchanged | refused with resource_conflict
//
// Its id follows from the person (OwnedID), of whom only a digest is kept; "nobody" is
// an account that an operator or a sandbox opened.
//
// # A client token
//
//	client token | command | next      | event
//	(none)       | Mint    | minted    | client_token.minted
//	minted       | Mint    | unchanged | refused with resource_conflict
//
// It ends by time, at most MaxClientTokenLife after its minting, or with its key; no
// event says so. Its scopes are among those of its key (Exceeding).
//
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
// It may import the standard library, domain/fault, domain/id and ulid, never a sibling
// aggregate.
package account
