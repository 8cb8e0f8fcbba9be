// Package narrative describes in plain English what the evidence shows of a video
// (docs/contract.md#narrative). It names the objects in view at the beginning, the objects
// that come and go, and the direction in which they move. It also names people who sit down
// or stand up, and changes of scene.
//
// Imports: the standard library, domain/answer, domain/evidence and domain/query. The package
// is pure: the same evidence gives the same text.
//
// # Sentences
//
//	sentence                          written for
//	"A person and a dog are in view." tracks that are present at the first sample
//	"A dog enters from the left."     a track that begins at an edge, or moves in from it
//	"A third bottle appears."         a track that begins elsewhere; "third" counts the
//	                                  bottles in view at the same time
//	"The dog leaves to the right."    a track that ends at an edge, or moves out to it
//	"The dog is no longer in view."   a track that ends elsewhere
//	"The dog moves to the right."     a move of at least a quarter of the frame, unless all
//	                                  objects move alike: then the camera moved
//	"The person sits down."           a posture seen in two neighboring samples
//	"The scene changes: …"            a sample in which no object of the last one is found
//
// Answers and narratives use the same rule for the side by which an object comes and goes
// (answer.Track.Comes). The fine samples between two samples give a more exact time.
//
// # Guarantees
//
//   - An object is described only when its track is trusted (answer.Track.Trusted), its best
//     detection reaches minProbability, and no other class claims its place. One weak
//     detection is never enough. An object stays the same while it is missed for a moment, or
//     hidden at one place for up to maxHiddenS seconds.
//   - The text never says that an object is the same as one that left before, and never names
//     a property that was not measured.
//   - There are at least one and at most [MaxEntries] entries. The first is at 0, they are
//     ordered by time, and none is after the end of the video. Each is a sentence of fewer
//     than [MaxLen] bytes of printable text, for any class names of a model.
package narrative
