// Package prove proves to others what the transparency log contains: that it has an event, that the
// ledger of an account is complete, and that the database contains the past of an older checkpoint.
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
//   - Contains hashes the rows of the database itself, so its answer does not depend on the files of the log.
//     They only name the first row that differs.
//   - On a replica, Contains reports rows at the end that are missing as BehindError, after it has compared each
//     row before them.
//
// # Limits
//
// When the anchored log was replaced, too, its records cannot name the row; the finding says so.
package prove
