// Package witness asks the witnesses of the transparency log to cosign its checkpoints
// (https://c2sp.org/tlog-witness). A witness keeps the newest tree that it has seen, and cosigns only trees that
// extend it. So it refuses a forked log and a shortened one.
//
// It may import eventstore/translog, golang.org/x/mod and the standard library. The caller passes the HTTP
// transport.
//
// # Guarantees
//
//   - A request takes at most 10 s, and reads at most 16 KiB of the response. Redirects are not followed.
//   - Add returns only a signature line that verifies with the configured key of the witness.
//   - The errors distinguish what a witness says about the log (ConflictError, ErrInconsistent) from a witness that
//     cannot be asked, does not know the log, or fails.
package witness
