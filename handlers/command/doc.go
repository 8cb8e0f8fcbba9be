// Package command is where the service changes: one pipeline, and one file per use
// case.
//
// # The pipeline
//
// A command names the streams it will touch and a function that decides. The
// pipeline gathers waiting commands of an account in a lane, loads those of their streams
// that the lane does not remember, decides each in turn on the state that the one before
// it left, and commits all of them in one append. Each caller gets its own verdict: a
// refused command leaves nothing behind and does not disturb its neighbours. When another
// process changed a stream meanwhile, the whole group is decided anew, a bounded
// number of times.
//
// What a lane remembers may be out of date. An append asserts the version of every
// aggregate that was read, so nothing is recorded on an old one; and a verdict with which
// nothing is appended is made once more on what is loaded.
//
// A request with an Idempotency-Key leaves a receipt in the same append; a dry run
// takes the same path and appends nothing.
//
// Every event says who did it, by which request, and what led to it. Work that nobody
// asked for gets a request id of its own.
//
// Checkpoints of the ledger alone are appended past the lanes: they vouch for what is in
// the log already, and nothing is decided on them.
//
// Deciding is repeatable: a decide function may run several times and must have no
// effect but through its session.
//
// It may import domain and the contract of eventstore with fold. It never sees SQL, HTTP
// or an engine.
package command
