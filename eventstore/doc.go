// Package eventstore is the contract of the log: every change of the service is an
// event appended here, and nothing else is a source of truth.
//
// # Guarantees
//
//   - Append is atomic over several streams: all of a batch is recorded or nothing.
//   - Each write names the version that it was decided on; if the stream has moved
//     on, nothing is recorded and a *ConflictError says so.
//   - Within a stream versions are 1, 2, 3, … without gaps. Over the whole log
//     positions ascend; they may have gaps, which mean nothing.
//   - Read returns events in the order of their positions and never skips one that
//     commits late: a position is handed out only once every smaller one is either
//     recorded or will never be.
//   - Within one stream the order of positions is the order of versions.
//   - Each stream is a hash chain: an event that is altered, removed or moved in the
//     store no longer fits the chain that was recorded with it and after it.
//
// The packages below implement it: postgres (the real one), memory (the same suite,
// for tests of other packages), fold (what each category of streams folds to), feed (Watermill subscriptions on the log), codec
// (stored names and payloads), node (what the running processes share), embedded (a Postgres for one machine) and storetest
// (the suite that every implementation passes).
//
// It may import domain. Only postgres, node, feed, embedded and storetest may import pgx;
// only feed may import Watermill. No business rules, no read models.
package eventstore
