// Package public reads the event feed of an account: the public events of its resources.
// HTTP and webhooks deliver the same events (docs/contract.md#webhook-events).
//
// The log is the feed. Nothing is stored for it, so it cannot differ from the log. The id of
// an event is made from its time and its link in the hash chain of its stream. The order is
// that of the log. The resource is the fold of the stream up to the event.
//
// # Guarantees
//
//   - Only settled events are shown (postgres.Store.Settled), in one order for all readers.
//     A reader that continues from the last event it read misses none and reads none twice,
//     even when a transaction commits late.
//   - An event never changes: its id, its position and its resource, shown as it was right
//     after the event.
//   - Artifacts and a narrative that are added to a completed analysis later have no event,
//     because the list of types is closed. A read of the resource shows them. The event
//     analysis.completed shows them as they were right after it.
//   - The sequence of an event is the version of its resource. Of two events of one
//     resource, the one with the higher sequence is the later one.
//   - An event of another account, or of the other mode, looks like one that does not exist
//     (docs/architecture.md#law-9).
//
// It may import domain, eventstore, eventstore/fold, eventstore/postgres, projections,
// projections/resources and ulid.
package public
