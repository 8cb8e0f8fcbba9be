// Package command changes the state of the service. It has one pipeline, and one file per
// use case.
//
// # The pipeline
//
// A command names the streams that it needs and a decide function. A lane is the queue of
// some accounts. Each account has its own line in it. The lane runs its commands in groups:
//
//  1. It takes the waiting commands as one group, one of each account in turn.
//  2. It loads the streams that are not in its cache.
//  3. It decides each command in turn, on the state that the previous one left.
//  4. It commits the events of all commands in one append.
//
// Each caller gets its own result. A refused command records nothing and does not affect the
// others of its group. When another process changed a stream in the meantime, the lane
// decides the whole group again. After a second conflict it locks the streams first, and the
// account gets a lane of its own, which takes turns with the other processes (turns.go).
//
// The cache of a lane may be out of date. An append asserts the version of every aggregate
// that was read, so no event is recorded on an old state. A result without an append, such as
// a refusal, is decided a second time on loaded state.
//
// A request with an Idempotency-Key records a receipt in the same append. A dry run takes the
// same path and appends nothing.
//
// Every event names its actor, its request and its cause. Work that the service starts by
// itself gets a request id of its own.
//
// Only seals and keys of the ledger are appended without a lane. A seal covers events that
// are already in the log, and no command depends on it.
//
// A decide function may run several times. Its only effect must be on its session.
//
// It may import domain, eventstore, eventstore/codec and eventstore/fold. It must not use SQL,
// HTTP or an engine.
package command
