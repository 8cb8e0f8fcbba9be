// Package storetest gives tests a real database, and holds the suite that every
// implementation of the event store passes.
//
// It is imported by tests only. It may import eventstore, eventstore/embedded,
// domain, pgx, pgtestdb and the test libraries.
//
// # Guarantees of Database
//
//   - Each test has a database of its own, migrated and empty, so tests may run
//     in parallel, in one process and in many.
//   - Migrations run once for each cache key on a server; tests get clones of
//     the result, about 50 ms each.
//   - The server is the one of VQA_TEST_DATABASE_URL, else an ephemeral one that
//     all test processes of a user share. Each process holds it by a file lock
//     until it exits or dies; some seconds after the last one the server stops
//     and its data is deleted, so a test run leaves nothing behind.
//   - The tests connect as superuser. What a restricted role may do is tested by
//     changing to that role.
package storetest
