// Package storetest gives tests a real database. It also has the tests that every implementation of
// eventstore.Store passes.
//
// Only tests may import it. It may import eventstore, eventstore/codec, eventstore/embedded, domain,
// pgx, pgtestdb and the test libraries.
//
// # Guarantees of Database
//
//   - Each test has its own database, migrated and empty, so tests may run in parallel, in one
//     process and in several.
//   - Migrations run once for each cache key on a server. Tests get clones of the result. A clone
//     takes about 50 ms.
//   - The server is the one of VQA_TEST_DATABASE_URL, else an ephemeral one that all test
//     processes of a user share. Each process holds a file lock until it ends. Ten seconds after
//     the last process, the server stops and its data is deleted.
//   - The tests connect as superuser. A test of a restricted role sets that role.
package storetest
