// Package codec turns events of the domain into their stored form and back. It also writes
// the JSON of folded states (MarshalState).
//
// # Stored names
//
// An event is stored under a name that is written by hand and never changes,
// "analysis.completed". When its payload changes shape, the registration gains an
// upcaster and the new shape is stored as "analysis.completed@2", the next one as
// "@3", and so on; the first shape carries no suffix. What was once written stays
// as it is: reading lifts an old payload step by step to the newest shape, so that
// the domain knows only one.
//
// # Guarantees
//
//   - Nothing is dropped in silence: an unknown name, a version newer than this
//     program, an unknown field, a name twice, and trailing bytes are all errors.
//   - Encoding checks a batch as a whole (Encode), so that every store rejects the
//     same mistakes.
//   - The bytes of every shape ever stored are held in testdata/golden and compared
//     on each test run.
//   - A shape never changes under its stored name: each has a JSON Schema in
//     docs/schemas/events that is written once, by catalog, and compared with the types
//     by CheckSchemas.
//
// It may import domain and eventstore; nothing that touches a database.
package codec
