// Package audit proves the ledger: it replays the log and names every place at which
// the log, its hash chains, the read models or the signed checkpoints contradict each
// other.
//
// # What is reported
//
//	kind        what was found
//	altered     an event's hash does not follow from its content and the event before it,
//	            the head of the stream carries another hash, or the event cannot be read
//	missing     a version is absent, or the last events are: the head of the stream or a
//	            checkpoint knows more
//	reordered   an event stands at another version than the one its hash was made for
//	balance     a law of the ledger is broken, or a read model says something else
//	hold        a hold ended twice or not as it began, or the read model has another one
//	checkpoint  a checkpoint is not signed by a known key, does not follow from the one
//	            before it, or says something else than the log at its version
//
// # Guarantees
//
//   - Everything is read in one read-only snapshot, which all readers share: beside a
//     working service nothing is reported that is not so.
//   - It never stops at the first find. After an event that does not fit, the hash that
//     is stored with it is the new base, so that each damaged event is named once and its
//     innocent successors are not.
//   - What follows from damage is not reported again: from the first damaged event of an
//     account on, its balance and holds cannot be known, and are judged when the history
//     is whole. Chains, transactions and checkpoints are judged all the same.
//   - Memory is bounded by the number of readers, whatever the size of the log: streams
//     are read in ranges, a long one in parts whose chain is checked side by side and
//     whose events are folded in order.
//
// An attacker who can write everywhere and makes all hashes of a stream anew after the
// last checkpoint leaves no contradiction behind: what is not yet vouched for by a
// signature is as trustworthy as the database.
//
// It may import domain, the contract of eventstore with codec and fold, its parents
// projections and projections/ledger, and pgx. It never writes.
package audit
