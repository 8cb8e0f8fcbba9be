// Package projections makes read models of the log: tables that follow from events
// alone and can be thrown away and made anew.
//
// A Model is one table. Its rows are a pure function of the folded state of a stream, or
// of one of its events, so the live row, written inside the append's own transaction,
// and a row made anew are the same row, byte for byte. A read after a write is never
// stale, and a swap of tables needs no invalidation: no process keeps rows.
//
// # Rebuild and proof
//
// A Rebuilder makes tables anew beside the live ones, proves that they are equal, and
// swaps them, while the service runs:
//
//   - Plan. The fence, a short lock on the log, gives a position P. The names of all
//     streams are divided into chunks of about 20,000 events. Plan, chunks and shadow
//     tables are in the schema "rebuild".
//   - Fill. Several workers fold one chunk after the other, up to P, and copy the rows
//     into the shadow tables, in one transaction with the mark that the chunk is done.
//     Keys and indexes are built afterwards.
//   - Rounds. Each takes a snapshot under the fence, which is let go at once, and folds
//     what was appended since the round before. Because read models are written in the
//     append's own transaction, the live tables of that snapshot are exactly the log up
//     to it. One round compares all rows, by a digest for each account, the later ones
//     those that they touched.
//   - Swap. One transaction takes the fence, folds and compares the last events (at most
//     300), and moves the tables. It gives up any lock that is not to be had within 30 ms
//     and begins again, so that nobody waits behind it for longer.
//   - A certificate is stored: position, rows and digests, what differed, time taken.
//
// # Guarantees
//
//   - Rows that differ are told and nothing is swapped, unless that is accepted.
//   - Interrupted at any moment, the live tables are whole, and the next run goes on with
//     the chunks that are left. It begins anew when the read models, their shapes or the
//     definitions of the live tables are others.
//   - One run at a time, whatever the number of processes.
//   - Memory: for each worker the rows of 20,000 events and the state of one stream; for
//     the rounds 5,000 events, and the states of 20,000 short streams, of those that were
//     written during the comparison, and of those with 1,000 events or more.
//   - A digest is the sum, in two halves of 64 bits, of a hash of each row, so it does
//     not depend on their order. It tells accidents, not an attacker who can choose rows:
//     for that there is the hash chain of the log, from which the rows follow.
//
// The packages below hold the models and their readers: resources (accounts, keys,
// videos, analyses), ledger (balances, transactions, checkpoints), and tools that read
// the log itself: history and, below ledger, audit, book and export.
//
// It may import domain, the contract of eventstore with fold and codec, and pgx. It never
// appends, and a model never reads another model's table.
package projections
