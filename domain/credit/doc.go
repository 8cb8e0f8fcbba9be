// Package credit decides every change of an account's balance of credit-seconds.
//
// The balance changes in two phases, as in TigerBeetle. Work first places a hold. When the
// work ends, it settles the hold with a debit, or releases it. A hold that is not ended in
// time expires. All amounts are whole seconds.
//
// # Laws
//
//   - Every event is a ledger entry whose postings sum to zero (Postings).
//   - Posted is the sum of all grants minus all settled debits, after refunds. It always
//     equals the sum of the exchanges with the accounts of the platform (Totals).
//   - Available is Posted minus the sum of the open holds. It is never negative.
//   - A hold ends exactly once. It never settles for more than the held seconds plus the
//     available ones.
//   - The refunds of a transaction never exceed it.
//   - When a hold with a quota is accepted, the seconds settled in its month and all open
//     holds together are within the quota.
//   - An agent never settles more than the spending limit of its grant, even for work that
//     turns out longer than its hold.
//
// # A hold
//
//	hold          | command | next      | event
//	(none)        | Hold    | open      | credit.held
//	open, expired | Hold    | unchanged | (none)
//	open, expired | Extend  | open      | credit.extended
//	open, expired | Settle  | ended     | credit.settled
//	open, expired | Release | ended     | credit.released
//	expired       | Expire  | ended     | credit.released
//	any           | any     | unchanged | refused with resource_conflict
//
// The first row that fits applies.
//
//   - A hold is expired after its ExpiresAt, but it has not ended. Its source can settle it
//     until the sweep expires it.
//   - A Hold above the available balance is refused with insufficient_credits. A Hold above
//     the quota of the month, or above the spending limit of the agent that requests it, is
//     refused with quota_exceeded.
//   - An Extend adds seconds to a hold, and is refused like a Hold. Live streams reserve their
//     seconds in such slices.
//   - A hold of 0 seconds reserves nothing. With it, work that is never billed counts as
//     active and ends like any other work.
//   - A hold may have a discount in percent. Every prompt of a batch after the first has one
//     (docs/contract.md#batches). Discounted computes the price.
//   - The state forgets ended holds, so that it stays small. This is safe because a source
//     requests its hold only when it is created, which happens once.
//
// # Seals
//
// A seal (ledger.sealed) states the tree over all events and the tree over all accounts at one moment. The
// signed checkpoints of the transparency log, which lie outside the database, cover it.
//
// It may import the standard library and domain/fault, never a sibling aggregate.
package credit
