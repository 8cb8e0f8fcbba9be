// Package credit decides every change of an account's balance of credit-seconds.
//
// The balance moves in two phases, as in TigerBeetle: work first places a hold, and
// the end of the work settles the hold (a debit of what is billed) or releases it. A
// hold that nobody ends expires.
// Whole seconds only, never a float.
//
// # Laws
//
//   - Every event is a ledger entry whose postings sum to zero (Postings).
//   - Posted is the sum of all grants less all settled debits, refunds considered, and
//     at every moment the sum of what was exchanged with each account of the platform
//     (Totals).
//   - Available = Posted - sum of open holds, and is never negative.
//   - A hold ends exactly once; it never settles for more than was held plus what
//     is available.
//   - The refunds of a transaction never exceed it.
//   - Where a hold has a quota, what was settled in its month and all open holds
//     together are within it at that moment.
//
// # A hold
//
//	hold          | command | next      | event
//	(none)        | Hold    | open      | credit.held
//	open, expired | Hold    | unchanged | (none)
//	open, expired | Settle  | ended     | credit.settled
//	open, expired | Release | ended     | credit.released
//	expired       | Expire  | ended     | credit.released
//	any           | any     | unchanged | refused with resource_conflict
//
// The first row that fits holds. A hold is expired, but not ended, when its time is
// over: until the sweep expires it, whoever made it may still settle it. A Hold of more
// than is available is refused with insufficient_credits, and one beyond the quota of the
// month with quota_exceeded. A hold of 0 seconds reserves nothing: it makes work that is
// never billed end like any other, and count as active. Ended holds are forgotten, so
// that the state stays small: a source asks for its hold only in the step that creates
// it, which happens once.
//
// # Checkpoints
//
// A checkpoint is a signed statement about one account's ledger. Those of an account are
// a stream of their own, in which each names the one before; the public keys are another
// stream, so that old checkpoints can be checked after the key was changed.
//
// It may import the standard library and domain/fault, never a sibling aggregate.
package credit
