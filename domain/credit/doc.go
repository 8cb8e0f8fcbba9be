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
//	state   | command | next     | event
//	(none)  | Hold    | open     | credit.held, refused with insufficient_credits
//	open    | Hold    | open     | (none): the same source asks again
//	open    | Settle  | settled  | credit.settled
//	open    | Release | released | credit.released
//	settled | any     | settled  | refused with resource_conflict
//	released| any     | released | refused with resource_conflict
//
// It may import the standard library and domain/fault, never a sibling aggregate.
package credit
