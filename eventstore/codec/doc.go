// Package codec converts events of the domain to their stored form and back. It also encodes
// folded states as JSON (MarshalState).
//
// # Stored names
//
// An event is stored under a name that is written by hand and never changes, such as
// "analysis.completed". When its payload changes shape, the registration gains an upcaster, and
// the new shape is stored as "analysis.completed@2". The next one is "@3", and so on. The first
// shape has no suffix. Stored payloads never change: reading converts an old payload step by
// step to the newest shape, so that the domain has only one.
//
// # Two releases on one log
//
// A release learns to read a new type or version before any release writes it (ReadFirst). A program
// that meets one it does not know fails with eventstore.ErrUnknownEvent, which says so.
//
// # Guarantees
//
//   - Reading is strict: an unknown name, a version newer than this program, an unknown field,
//     a duplicate field and trailing bytes are errors.
//   - Encode checks a batch as a whole, so that every store rejects the same mistakes.
//   - Each test run compares the payload of every shape ever stored with testdata/golden.
//   - A shape never changes under its stored name. Each has a JSON Schema in
//     docs/schemas/events. The program catalog writes it once, and CheckSchemas compares it
//     with the types.
//
// It may import domain and eventstore. It must not use a database.
package codec
