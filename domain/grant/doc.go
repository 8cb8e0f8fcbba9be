// Package grant decides which programs may use the agent tools for a person, and for how long: the
// permissions of OAuth (docs/contract.md#oauth).
//
// # A grant
//
//	grant    | command            | next      | event
//	(none)   | Approve            | approved  | grant.approved
//	(none)   | Deny               | denied    | grant.denied
//	(none)   | any                | unchanged | refused with resource_not_found
//	any      | Approve            | unchanged | refused with resource_conflict
//	any      | Deny               | unchanged | refused with resource_conflict
//	any      | Redeem by another  | unchanged | refused with invalid_api_key
//	any      | Refresh by another | unchanged | refused with invalid_api_key
//	denied   | Revoke             | unchanged | refused with resource_not_found
//	denied   | any                | unchanged | refused with invalid_api_key
//	approved | Redeem             | active    | grant.redeemed
//	approved | Revoke             | revoked   | grant.revoked
//	approved | any                | unchanged | refused with invalid_api_key
//	active   | Redeem             | revoked   | grant.revoked
//	active   | Refresh            | active    | grant.refreshed
//	active   | Refresh with old   | revoked   | grant.revoked
//	active   | Revoke             | revoked   | grant.revoked
//	revoked  | Revoke             | unchanged | (none)
//	revoked  | any                | unchanged | refused with key_revoked
//
// The first row that fits applies. "by another" is a command of another client, and "with old" one with
// a refresh token that was exchanged more than RotationGrace ago. A grant expires Life after its
// approval, and its code CodeLife after it. No event records an expiry; the time of the decision does.
//
// A grant is decided once. So the form of the consent page has one use: a second submission finds the
// grant that the first one decided.
//
// # A registered client
//
//	client       | command  | next       | event
//	(none)       | Register | registered | agent_client.registered
//	(none)       | any      | unchanged  | refused with resource_not_found
//	any          | Register | unchanged  | refused with resource_conflict
//	registered   | Keep     | kept       | agent_client.kept
//	kept         | Keep     | unchanged  | (none)
//
// A client expires UnusedClientLife after its registration, or with its last grant.
//
// # Secrets
//
// Codes and tokens are opaque. A secret names its grant, so that no index of tokens exists. Events and
// states have the SHA-256 of a secret only. The refresh tokens of a grant share a part. A token with
// this part that does not work was exchanged before, so the grant is revoked. Text without it was not
// issued by this service and changes nothing.
//
// It may import the standard library and domain/fault, never a sibling aggregate.
package grant
