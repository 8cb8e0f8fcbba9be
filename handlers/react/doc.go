// Package react turns events of the log into jobs. It only records the intent: a
// handler runs inside the feed's transaction and must be quick, and the feed delivers
// each event at least once, so every job it enqueues names the event and enqueuing it
// twice adds nothing.
//
// It may import domain, the contract of eventstore and handlers/command.
package react
