// Package feed delivers the log to subscribers through Watermill. The table of
// events is the topic: nothing is written twice.
//
// # Guarantees
//
//   - A group sees every event at least once, in the order of positions, none
//     skipped, whatever commits late or crashes (postgres, "Reading in order").
//   - At most one subscriber of a group is at work at any time, over all processes;
//     the others stand by.
//   - A handler that fails, panics or runs out of time is tried again a bounded
//     number of times. Then the event is parked (table parked) and the group goes
//     on. An event that cannot be decoded is parked at once.
//   - What a handler writes through Tx commits together with the group's position,
//     so it is done exactly once. Everything else that it does (a job inserted
//     through another connection, a command) may be done again after a crash and
//     must be idempotent: give the job a unique key made of the event's position.
//
// # States of a delivery
//
//	          handler returns nil
//	delivered ──────────────────────────────────▶ done
//	    │ error, panic, time-out
//	    ▼                     attempts used up, or not decodable
//	  failed ───────────────────────────────────▶ parked ──▶ delivered, by a replay
//	    │ attempts left
//	    └──▶ delivered, after a pause
//	any ── connection lost, shutdown ──▶ delivered anew, by whoever holds the group
//
// # Replays
//
// An operator's order (Replay) lets a group take a range of the log again. The
// subscription itself works it off: it alone has the handler with all that the handler
// needs, and under the group's lock a replay and a live delivery cannot run at once.
// Batches of the replay and of the log take turns, so neither holds the other up, and
// each keeps its own order. The group's position does not move; the order's own
// position commits with its batch, so a crash repeats a batch at most. Handlers must be
// idempotent anyway. Without a process that subscribes an order waits for one.
//
// # Parked events
//
// A parked event waits outside of the group's order: later events went on, those of its
// own stream included, so when it is handled after all (by a replay) it comes after
// them. A replay that succeeds takes it off the table; one that fails leaves it there,
// with the newer error. It never blocks anything.
//
// # What it does about watermill-sql v3
//
// A batch of messages shares one transaction there, a nack does not roll back, an
// SQL error poisons the rest, and a missed ack deadline or a Close commits half-done
// work. So each attempt runs inside a savepoint; failures never become nacks; the
// handler's own deadline is far shorter than the ack deadline; a subscription ends
// only by its context, which rolls the transaction back; and when the transaction
// itself is lost, it is rolled back before the ack, so that recording the position
// fails and the batch is delivered again.
//
// The group is held by a try-lock taken in a statement before the position is read:
// in one statement the snapshot could be older than the lock, and the events that
// the last holder just finished would come again.
//
// Handlers run inside that transaction: they should record intent and return. One
// that ignores its context cannot be stopped and holds up its group.
//
// It may import eventstore, eventstore/codec, eventstore/postgres, pgx and Watermill.
package feed
