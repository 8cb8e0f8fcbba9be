// Package credit decides every change of an account's balance of credit-seconds.
//
// The balance moves in two phases, as in TigerBeetle: work first places a hold, and
// the end of the work settles the hold (a debit of what is billed) or releases it.
// Whole seconds only, never a float.
//
// # Laws
//
//   - Posted is the sum of all grants less all settled debits.
//   - Available = Posted - sum of open holds, and is never negative.
//   - A hold ends exactly once; it never settles for more than was held plus what
//     is available.
//
// # A hold
//
//	hold   | command | next      | event
//	(none) | Hold    | open      | credit.held
//	open   | Hold    | unchanged | (none)
//	open   | Settle  | ended     | credit.settled
//	open   | Release | ended     | credit.released
//	any    | Settle  | unchanged | refused with resource_conflict
//	any    | Release | unchanged | refused with resource_conflict
//
// The first row that fits holds. A Hold of more than is available is refused with
// insufficient_credits. Ended holds are forgotten, so that the state stays small: a
// source asks for its hold only in the step that creates it, which happens once.
//
// It may import the standard library and domain/fault, never a sibling aggregate.
package credit
