// Package feed delivers the log to subscribers through Watermill. The table events is the topic, so
// no event is written twice. A group is a named subscriber that any number of processes may share.
//
// # Guarantees
//
//   - A group receives every event at least once, without skipping any, even after late commits
//     and crashes (postgres, "Reading in order"). The events of a stream come in their order, and
//     all events in the order of positions while no handler fails.
//   - At most one process delivers to a group at any time. The others wait.
//   - An event whose handler fails, panics or times out is set aside and tried again a bounded
//     number of times. The pause doubles each time. The later events of its stream wait behind it,
//     in order. The group continues with all other events.
//   - After the last attempt the event is parked (table parked), and its stream continues. An event
//     that cannot be decoded is parked at once.
//   - An event of a type or version that this program does not know is set aside for a node of the
//     newer release that wrote it. The subscriber also leaves the group to that node. Attempts do not
//     count. The event is parked when no node has known it for a day.
//   - A failing event delays the events of other streams by at most one attempt, which is shorter
//     than a second. While an account has slow failures, one of them is tried between two batches
//     of the log.
//   - Writes of a handler through Tx commit together with the group's position, so they happen
//     exactly once. Other effects (a job inserted through another connection, a command) may
//     happen again after a crash, so they must be idempotent: a job needs a unique key.
//
// # States of a delivery
//
//	          handler returns nil
//	delivered ──────────────────────────────────▶ done
//	    │ error, panic, time-out
//	    ▼                     attempts used up, or not decodable
//	  failed ───────────────────────────────────▶ parked ──▶ delivered, by a replay
//	    │ attempts left
//	    └──▶ set aside ──▶ delivered, after a pause
//	an earlier event of the stream is set aside ──▶ set aside ──▶ delivered, when that one is done or parked
//	any ── connection lost, shutdown ──▶ delivered again, by the next holder of the group
//
// # Events set aside
//
// The table set_aside has the failing events and the later events of their streams. Its rows commit
// together with the group's position, so they survive a crash and a change of the holder. Polls
// alternate between the log and the events that are due. An attempt that the transaction does not
// survive is recorded in the next one.
//
// # Replays
//
// Replay delivers a range of the log to a group again. The group's own subscription does it,
// because it has the handler with its dependencies. Under the group's lock, a replay and a live
// delivery cannot run at the same time.
//
// Batches of the replay and of the log alternate, so neither delays the other for long, and each
// is in the order of positions. The group's position does not move. The position of the replay
// commits with its batch, so a crash repeats at most one batch. A replay waits while no process
// subscribes to the group. It leaves out events that are set aside. When an event of the replay
// fails, the replay waits for its next attempt, and the log does not.
//
// # Parked events
//
// A parked event loses its place in the order: the group continues with later events, also of
// the same stream. A replay may handle the parked event after them. When the replay succeeds, the
// event leaves the table parked. When it fails, the event stays parked with the new error. A parked
// event never blocks the group.
//
// # Problems of watermill-sql v3 and their solutions
//
//   - Its retry middleware waits within the batch and calls NextBackOff twice for each failure, so
//     its pauses quadrupled. So attempts and pauses are our own.
//   - A batch of messages shares one transaction, and an SQL error aborts all of it. So an
//     attempt that takes the transaction runs inside a savepoint.
//   - A nack does not roll back. So a failure never becomes a nack.
//   - A missed ack deadline commits half-done work. So the handler's deadline is much shorter
//     than the ack deadline.
//   - Close commits half-done work. So a subscription ends only by its context, which rolls the
//     transaction back.
//   - When the transaction itself is lost, it is rolled back before the ack. Then recording the
//     position fails, and the batch is delivered again.
//
// A subscriber takes the group's lock with a try-lock, in a statement before it reads the
// position. In a single statement the snapshot could be older than the lock, and the events that
// the last holder has just finished would be delivered again.
//
// Handlers run inside this transaction. They should record the intent and return. A handler that
// ignores its context cannot be stopped and blocks its group.
//
// It may import eventstore, eventstore/codec, eventstore/postgres, pgx and Watermill.
package feed
