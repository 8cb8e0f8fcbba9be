// Package audit proves the ledger. It replays the log and reports every place at which the
// log, its hash chains or the read models contradict each other.
//
// # Kinds of mismatches
//
//	kind        finding
//	altered     The hash of an event does not follow from its content and the previous
//	            hash. Or the head of the stream has another hash, or the event cannot be
//	            read.
//	missing     A version is missing, or the last events are: the head of the stream has a
//	            later version.
//	reordered   An event is at another version than the one its hash was made for.
//	balance     An event breaks a law of the ledger (credit.Examine), or a read model has
//	            another value.
//	hold        A read model has other holds.
//	checkpoint  The log outside the database contradicts it (handlers/seal). The caller adds it.
//
// # Guarantees
//
//   - All readers share one read-only snapshot, so writes of a running service cause no
//     false reports.
//   - It continues after a mismatch. The stored hash of a mismatching event is the new base,
//     so each damaged event is reported once and the events after it are not.
//   - Consequences of damage are not reported. From the first damaged event of an account
//     on, its balance and holds are not known, so they are not checked. Chains and
//     transactions are still checked.
//   - Memory depends on the number of readers and not on the size of the log. Streams are
//     read in ranges. A long stream is read in parts: their chains are checked at the same
//     time, and their events are folded in order.
//
// An attacker with full write access can compute all hashes of a stream again without a
// contradiction. The MACs of events and the transparency log (handlers/seal) show that.
//
// It may import domain, the contract of eventstore with codec and fold, its parents
// projections and projections/ledger, and pgx. It never writes.
package audit
