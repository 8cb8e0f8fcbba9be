// Package postgres is the log on Postgres, for every process of the service.
//
// # Append
//
// One transaction in one round trip: the statement of heads, receipts and events, and
// those of the inline read models, sent together and committed with the last. The heads
// of all streams of a batch are checked and moved in the order of their names, so that
// two batches do not lock each other out, and events are inserted only when all heads
// were right, so that a conflict burns no position. Events are encoded and chained
// before the transaction begins. No lock is held while this program thinks.
//
// # Reading in order
//
// A position is handed out before its transaction commits, so a later one may
// become visible first. Each insert into events takes a shared advisory lock whose
// key holds the last position given out before it (a trigger does so: no writer can
// forget it, psql included). A reader may go up to the newest visible position, but
// not beyond what the oldest open writer started from, and reads in a statement
// after the one that found this out: the locks of a writer are let go only after its
// rows are visible. See events_fence and events_settled in migrations/0001_log.sql.
//
// The sequence serves as the clock here. The obvious alternative, comparing the
// start of open transactions with the time at which a row was written, needs the
// right to see other sessions' activity and loses an event when the machine's clock
// is set back during an append.
//
// It holds on a primary, in READ COMMITTED (Connect asks for it), and whatever the
// roles of readers and writers are.
//
// # Wake-up
//
// Run sends one NOTIFY on Channel after commits, never inside an append: there it
// would serialize all of them. Losing one costs a subscriber no more than its poll
// interval.
//
// # A server that is silent
//
// A statement of a context with eventstore.Patience, and the wait for a free connection, end
// when the patience is over: see deadlines. A server that hangs keeps its connections open, so
// that no timeout of TCP or of the server itself would end the wait.
//
// It may import eventstore, eventstore/codec and pgx.
package postgres
