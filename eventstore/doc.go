// Package eventstore is the interface of the log. Every change of the service is an event
// appended to the log, and the log is the only source of truth.
//
// # Guarantees
//
//   - Append is atomic over several streams: it records the whole batch or nothing.
//   - Each write names the version that it was decided on. If the stream has another
//     version, Append records nothing and returns a *ConflictError.
//   - Within a stream, versions are 1, 2, 3, … without gaps. Positions ascend over the whole
//     log and may have gaps.
//   - Read returns events in the order of their positions and never skips an event that
//     commits late. It stops before a position while an earlier one may still be recorded.
//   - Within a stream, positions have the same order as versions.
//   - Each stream is a hash chain. An event that is altered, removed or moved in the store no
//     longer matches the chain recorded with it and after it.
//
// # Packages
//
//   - postgres: the log in Postgres.
//   - memory: the log in memory, for tests.
//   - codec: stored names and payloads of events.
//   - mac: authentication codes of stored rows.
//   - fold: how each category of streams folds to a state.
//   - feed: Watermill subscriptions to the log.
//   - translog: the transparency log over the events, without input and output.
//   - node: the state that the nodes of a service share.
//   - embedded: a Postgres server for one machine.
//   - storetest: the tests that every implementation passes, and test databases.
//
// It may import domain. Only postgres, node, feed, embedded and storetest may import pgx.
// Only feed may import Watermill. It has no business rules and no read models.
package eventstore
