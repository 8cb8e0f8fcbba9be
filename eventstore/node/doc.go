// Package node holds the state that the nodes of a service share about themselves and about
// the requests they serve. A node is one running server process.
//
//   - Presence holds the lease of this node and shows which nodes are alive.
//   - Locks let one request with an Idempotency-Key run at a time, over all nodes. A lock is
//     void when the lease of its holder is over or its time is up.
//   - Windows count requests for the rate limits, over all nodes.
//   - Installation compares the secret key and the object store of a node with those that the
//     first node recorded in the database. A node that differs must not serve.
//
// Callers pass the time of the database (postgres.Clock) to locks and windows, so that nodes with
// wrong clocks decide alike. A lock lasts 10 s and is renewed while its request runs. A count that
// is more than one window ahead was made by a wrong clock and is dropped.
//
// # Leases
//
// A node holds a lease of 12 s and renews it every 3 s. The lease is a row with a time of the
// database's clock, so the clocks of the nodes do not matter:
//
//	event                                  what the node does          other nodes
//	renewed                                works                       leave its work alone
//	no renewal for 10 s since it was sent  cancels its work            leave its work alone
//	no renewal for 12 s                    claims nothing              take up its work
//	connected again                        takes a lease, next epoch   leave the new work alone
//	stopped cleanly                        ends its lease              take up its work at once
//
// The node measures the 10 s on its own clock, from the moment before it sent the last
// successful renewal. That clock never jumps, and it also runs while the machine is suspended.
// So the node stops before another one may start. Each epoch of a node is an incarnation with a
// name of its own, such as node_01M7…@2. Work belongs to an incarnation: a node that lost its
// lease does not count as alive for the work that it had before.
//
// Work runs under the context of a lease (eventstore.WithLease). A process that was stopped
// longer than its lease may run on for a moment before that context ends. So the command
// pipeline checks the lease again before it appends. The last guard is in the log: an attempt
// that was overtaken is refused.
//
// When the clock of the database jumps forward, leases end early: nodes take new ones, and work
// may run twice until then. The guard in the log makes that harmless. When the clock jumps
// back, renewals lie in the future, and such leases do not count.
//
// # State that may be lost
//
// Locks and counts are short-lived and kept in unlogged tables, because losing them is
// harmless. No rule of the domain depends on them: a receipt in the log ensures that a
// request is carried out once.
//
// It may import eventstore, eventstore/postgres, domain/rate and pgx.
package node
