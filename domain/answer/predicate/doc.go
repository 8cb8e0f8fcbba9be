// Package predicate holds what a question can say of an object: its color, its place, what it does. A
// predicate is one file with one [Row], and a line in [Rows]. Everything else follows from the row: which
// questions are assessed, what is sampled for them, and the table in docs/questions.md.
//
// A predicate works in two steps. Test.Read turns a detection into a small reading while its frame is in
// memory. Test.Along turns the readings and boxes of a track into a probability at each of its points.
// What a frame does not show is [Unknown].
//
// It may import domain/evidence and domain/query. It is pure: no clock, no randomness, no input or
// output.
package predicate

//go:generate go run ./document ../../../docs/questions.md
