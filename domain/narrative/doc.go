// Package narrative describes in plain English what the evidence shows of a video
// (docs/contract.md#narrative). It names the objects in view at the beginning, the objects that come and
// go, and the direction in which they move. It also names people who sit down or stand up, and changes of
// scene.
//
// Imports: the standard library, domain/answer, domain/answer/predicate, domain/evidence and domain/query.
// The package is pure: the same evidence gives the same text.
//
// # Agreement with the answers
//
// A narrative has no rules of its own for what happens. Its tracks, passages and movements are those of
// answer.Observe, which answers use as well. A sentence is written only when the answer to its question, from
// the same evidence, is yes:
//
//	sentence                          question
//	"A person and a dog are in view." Is there a person? A dog?
//	"A dog enters from the left."     Does a dog enter from the left?
//	"A third bottle appears."         Are there at least three bottles?
//	"The dog leaves to the right."    Does a dog leave to the right?
//	"The dog is no longer visible."   When is there no dog?
//	"The dog moves to the right."     Does a dog move? The move is at least a quarter of the frame.
//	"The person walks to the left."   Does a person walk?
//	"The person sits down."           Does a person sit? Before, this one stood or lay.
//	"The scene changes: …"            no question; no track crosses a cut (evidence.View)
//
// Only predicates are told that need no more frames than the evidence of a narrative has (verbs).
//
// # Guarantees
//
//   - An object is described only when an answer would say that it is there, and when its best detection
//     reaches minProbability: nobody asked about it. At one place there is one object, of the narrowest or
//     most probable class.
//   - The text never says that an object is the same as one that left before, and never names a property
//     that was not measured.
//   - There are at least one and at most [MaxEntries] entries. The first is at 0, they are ordered by time,
//     and none is after the end of the video. Each is a sentence of fewer than [MaxLen] bytes of printable
//     text, for any class names of a model.
package narrative
