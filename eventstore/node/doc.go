// Package node holds the state that the nodes of a service share about themselves and about
// the requests they serve. A node is one running server process.
//
//   - Presence shows which nodes run. Each node holds an advisory lock on a connection of its
//     own. Postgres releases the lock when the process or its machine dies.
//   - Locks let one request with an Idempotency-Key run at a time, over all nodes. A lock is
//     void when its node is gone or its time is up.
//   - Windows count requests for the rate limits, over all nodes.
//   - Installation compares the secret key and the object store of a node with those that the
//     first node recorded in the database. A node that differs must not serve.
//
// Locks and counts are short-lived and kept in unlogged tables, because losing them is
// harmless. No rule of the domain depends on them: a receipt in the log ensures that a
// request is carried out once.
//
// It may import eventstore, eventstore/postgres, domain/rate and pgx.
package node
