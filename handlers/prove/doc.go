// Package prove proves to others what the transparency log contains: that it has an event, and that the
// ledger of an account is complete. Package seal compares the database with the log.
//
// It may import domain, eventstore, handlers/anchor, handlers/seal and the standard library.
//
// # Guarantees
//
//   - It only reads: the files of the log, and the database.
//   - Each proof is checked before it is returned. A tile or a record that does not match the signed root is
//     an error and never part of a proof.
//   - An event that no checkpoint covers yet has no proof. ErrPending says so; the next pass of the sealer,
//     at most one minute later, covers it.
package prove
