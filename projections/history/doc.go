// Package history explains the state of an aggregate. It resolves an id to streams, folds a
// state at any version or time, and finds the requests that changed it.
//
// # Why
//
// Every event records the request that caused it (correlation) and its direct cause
// (causation): a request, or the position of an earlier event. A Chain is everything that
// one request caused, as a tree. It has the request, its events, the jobs that an event
// caused and the events that a job reported. Each credit event has its ledger entry. A request of an agent names
// the program and the permission.
//
// The log has no index for chains. The search starts in the streams of the id. It continues
// in the streams of the video_, an_ and acct_ ids in the payloads found so far, in those of the
// webhook deliveries of the events found so far, and at nearby positions. An id that names no stream, such as that of a request, is searched in the log
// page by page, from the newest page on.
//
// # Guarantees
//
//   - It only reads, and works beside a running service or without one.
//   - A state at a version or time is the fold of the stored events up to it, never a
//     snapshot or a read model.
//   - Jobs are River's rows. River keeps finished jobs for a day, so an older chain shows
//     its events without them.
//
// It may import domain, eventstore, eventstore/codec, eventstore/fold, eventstore/postgres,
// pgx and ulid.
package history
