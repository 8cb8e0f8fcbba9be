// Package audit proves the ledger. It replays the log and reports every place at which the
// log, its hash chains or the read models contradict each other.
//
// # Kinds of mismatches
//
//	kind        finding
//	forged      An event or a snapshot has no valid MAC, so the service did not write it.
//	altered     The hash of an event does not follow from its content and the previous hash. Or the
//	            head of the stream has another version or hash, or the event cannot be read.
//	missing     A version is missing, or the last events are: the head of the stream has a
//	            later version.
//	balance     An event breaks a law of the ledger (credit.Examine), or a read model of the ledger
//	            differs from it.
//	position    Positions do not ascend with the versions of a stream, or were never drawn.
//	read_model  A row of another read model differs from the log.
//	checkpoint  The log outside the database contradicts it (handlers/seal). The caller adds it.
//
// # Guarantees
//
//   - All readers share one read-only snapshot, so writes of a running service cause no
//     false reports.
//   - It continues after a mismatch. The MAC covers the hash of an event, so the one without a valid MAC is the
//     altered one, and the event after it is innocent even though its hash does not follow. Without the key of the
//     MACs, each event whose hash does not follow is reported; the comparison with the log outside names the first
//     row that differs.
//   - Consequences of damage are not reported. From the first damaged event of a stream on, its state is not known,
//     so its read models and its laws are not checked. MACs, versions and hashes still are.
//   - A reader keeps one piece of the log, and 8 bytes for each row of a read model, which show the rows that no event
//     explains.
//
// An attacker with full write access can compute all hashes of a stream again without a
// contradiction. The MACs of events and the transparency log (handlers/seal) show that.
//
// It may import domain, the contract of eventstore with codec and fold, its parents
// projections and projections/ledger, and pgx. It never writes.
package audit
