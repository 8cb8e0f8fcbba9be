// Package react turns events of the log into jobs. Its handler only enqueues, because it runs
// inside the feed's transaction and must be quick. The feed delivers each event at least once.
// A repeated delivery adds no second job, because the resource and the attempt are the unique
// key of a job.
//
// It may import domain, eventstore and handlers/command.
package react
