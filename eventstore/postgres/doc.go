// Package postgres is the log on Postgres, for every process of the service.
//
// # Append
//
// An append is one transaction in one round trip. It has one statement for heads, receipts and
// events, and the statements of the inline read models. The head of a stream is its row in the
// table streams, which holds its version.
//
//   - Heads are checked and updated in the order of their names, so that two batches cannot
//     deadlock.
//   - Events are inserted only when all heads matched, so that a conflict uses no position.
//   - Events are encoded and chained before the transaction begins, so that no lock is held
//     during work in this program.
//
// # Reading in order
//
// A position is assigned before its transaction commits, so a later position may become visible
// first. Therefore each insert into events takes a shared advisory lock. Its key holds the last
// position that was assigned before the insert. A trigger takes the lock, so that no writer can
// omit it, not even psql.
//
// A reader reads up to the newest visible position, but not beyond the start position of the
// oldest open writer. It asks for this limit in a statement before the one that reads: Postgres
// releases the locks of a writer only after its rows are visible. See events_fence and
// events_settled in migrations/0001_log.sql.
//
// The sequence replaces a clock. The alternative is to compare the start of open transactions
// with the time of a row. It needs the right to see the activity of other sessions, and it loses
// an event when the machine's clock is set back during an append.
//
// The method needs a primary, READ COMMITTED, which Connect sets, a sequence without a cache, and
// triggers that always fire. CheckServer and CheckLog check this. It works for every role.
//
// # Rows that only the service can write
//
// A Guard adds a MAC to each event and each snapshot that the store appends (eventstore/mac). Load,
// LoadAll and the other reads check them: Guard.CheckEvent checks one event by itself, for readers of
// the log. Load also checks that the events follow from the snapshot without a gap and lead to the head,
// so nothing in the table streams is believed by itself. A row that the service did not write fails with
// a *eventstore.ForgedError. A snapshot without a valid MAC is reported and not used; the events after an
// older snapshot with a valid one lead to the same state.
//
// # Writers that do not end
//
// Readers wait for each open writer, also for one of another program. WriterWatch reports the old
// ones and ends them. The timeouts of a connection bound an append of this program: each statement, and the
// wait for the next one in a transaction. They do not bound the wait for the next message within a
// pipeline. So a node that is stopped in the middle of an append is also ended by the watch, on
// another node.
//
// # Several processes on one account
//
// Hold locks the heads of streams before they are loaded, so that the next append meets no conflict. Turn
// is an advisory lock, which Postgres grants in the order of the requests. Both are transactions that
// Postgres ends after 2 s without a statement, so a process that is stopped does not stop the others.
//
// # Time
//
// Clock is the time of the database, for every decision that another node may depend on: rate
// windows, locks, expiry, signed URLs, sweeps, times of events. A node whose own clock is wrong
// decides like the others. The error is at most half a round trip and 1 ms for each second since
// the last measurement, which is at most 5 s old while the database answers. So two nodes in one
// data center differ by a few milliseconds.
//
// Such a difference is harmless for all of these uses, so they take the time from Clock and pass
// it on, as the rules of the domain require. Three uses take clock_timestamp() in the statement
// instead, because they never need the time in the program: recorded_at of an event, the
// positions of subscribers, and the jobs of River.
//
// The machine's clock remains where the database is not involved: time limits and pauses, which
// use its monotonic reading, log lines, temporary files, TLS, and requests to S3. S3 itself refuses
// a machine whose clock differs by more than 15 minutes.
//
// # Wake-up
//
// Run sends one NOTIFY on Channel after commits. An append itself sends none, because NOTIFY
// would serialize all appends. A subscriber that misses one notices the events at its next poll.
//
// # A server that does not respond
//
// When the context has an eventstore.Patience, statements and the wait for a free connection end
// with it (see deadlines). A server that hangs keeps its connections open, so neither TCP nor the
// server's own timeouts would end the wait.
//
// It may import eventstore, eventstore/codec, eventstore/mac and pgx.
package postgres
