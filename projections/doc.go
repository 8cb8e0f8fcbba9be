// Package projections builds the read models of the log: tables whose rows are made from
// events alone, so that they can be dropped and rebuilt.
//
// A Model is one table. Its rows are a pure function of the folded state of a stream, or of
// one of its events. A live row is written inside the append's own transaction, so a read
// after a write is never stale. A rebuilt row equals the live row byte for byte. No process
// caches rows, so a swap of tables needs no invalidation.
//
// # Rebuild and proof
//
// A Rebuilder builds new tables beside the live ones, proves that they are equal, and swaps
// them, while the service runs:
//
//   - Plan. The fence, a short lock on the log, gives a position P. The names of all
//     streams are divided into chunks of about 20,000 events. The plan, the chunks and the
//     shadow tables are in the schema "rebuild".
//   - Fill. Several workers fold one chunk after the other up to P. One transaction copies
//     the rows of a chunk into the shadow tables and marks the chunk as done. Keys and
//     indexes are built afterwards.
//   - Rounds. Each round takes a snapshot under the fence, releases the fence at once, and
//     folds the events since the last round. The live tables of the snapshot match the log
//     exactly, because appends write them in their own transaction. One round compares all
//     rows by a digest per account. Later rounds compare the rows that they touched.
//   - Swap. One transaction takes the fence, folds and compares the last events (at most
//     300), and moves the tables. When it cannot get a lock within 30 ms, it stops and
//     tries again, so that no statement waits behind it for longer.
//   - Certificate. It records the position, rows, digests, differences and durations.
//
// # Two releases on one database
//
// A table records the shape in which it was built, and the generation of the program that builds it.
// Refresh rebuilds the tables of an older shape when no node of an older generation is alive, and leaves
// those of a newer generation alone. Streams with events of unknown types are left out and named.
//
// # Guarantees
//
//   - Differing rows are reported, and the tables are not swapped unless the caller accepts
//     the differences.
//   - Verify also names each snapshot of a stream that is not the fold of its events. It leaves
//     out the snapshots of another release. Memory: 50 snapshots and the states of their streams.
//   - The live tables stay whole when a run is interrupted. The next run continues with the
//     remaining chunks. It starts from the beginning when the read models, their shapes or
//     the definitions of the live tables have changed.
//   - Only one run is active on a database at a time, in any process.
//   - Memory per worker: the rows of 20,000 events and the state of one stream. Memory of
//     the rounds: 5,000 events, and the states of 20,000 short streams, of the streams
//     written during the comparison, and of streams with 1,000 events or more.
//   - A digest is the sum of a hash of each row, in two halves of 64 bits. It does not depend
//     on the order of the rows. It detects accidents. It does not detect an attacker who can
//     choose rows; the hash chain of the log does.
//
// The packages below contain the models and their readers: resources (accounts, keys,
// videos, analyses) and ledger (balances, transactions). Others read the log
// itself: history, and audit, book and export below ledger.
//
// It may import domain, the contract of eventstore with fold and codec, and pgx. It never
// appends, and a model never reads another model's table.
package projections
