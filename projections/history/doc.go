// Package history explains what is: which streams an id names, what an aggregate was
// at any version or time, and why it became so.
//
// # Why
//
// Every event carries the request that it goes back to (correlation) and what led to it
// directly (causation: a request, or the position of an earlier event). A Chain is all
// that one request led to, as a tree: the request, its events, the jobs that an event
// called for, the events that a job reported, and with each event of credit the ledger
// entry that it is.
//
// No index of the log serves this. The events of a chain are looked for in the streams
// of the id that was asked about, in the streams that the payloads of those events name
// (video_, an_, acct_ ids), and so on, and among their neighbours in the log. An id that
// names no stream, such as a request's, is first looked for in the log itself, page by
// page, the newest page first.
//
// # Guarantees
//
//   - It only reads, and works beside a running service or without one.
//   - A state at a version or time is the fold of the stored events up to it, never a
//     snapshot or a read model.
//   - Jobs are River's rows: finished ones are kept for a day, so a chain that is older
//     shows its events without them.
//
// It may import domain, eventstore, eventstore/codec, eventstore/fold,
// eventstore/postgres and pgx.
package history
