// Package public reads the account's own feed: the events of its resources that are
// told to it, over HTTP and by webhooks alike (api-v1.md, "Webhook events").
//
// The log is the feed. Nothing is stored for it, so that it cannot differ from what
// happened: the id of an event is made from its time and its place in the hash chain of
// its stream, its order is that of the log, and its resource is the fold of the stream
// up to it.
//
// # Guarantees
//
//   - Only final events are shown (postgres.Store.Settled), in one order for all readers.
//     A reader that goes on from the last event it saw misses none, whatever commits late,
//     and sees none twice.
//   - An event never changes: not its id, not its place, not its resource, which is shown
//     as it was right after the event.
//   - What is filled in of a completed analysis later, its artifacts and its narrative, is
//     no event of the feed: the vocabulary is closed, and a read of the resource shows it.
//     An analysis.completed shows them as they were right after it.
//   - The sequence of an event is the version of its resource: of two events of one
//     resource, the higher one is the later one.
//   - An event of another account, or of the other mode, is as absent as one that does not
//     exist (design.md, law 9).
//
// It may import domain, eventstore, eventstore/fold, eventstore/postgres, projections and
// projections/resources.
package public
