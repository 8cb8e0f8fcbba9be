// Package narrative tells in plain English what a model saw in a video
// (api-v1.md, "Narrative"): what is in view at the beginning, what comes and goes, which
// way things move, how people sit down and stand up, and where one scene ends.
//
// Imports: the standard library, domain/answer and domain/query. Pure: the same evidence
// gives the same text.
//
// # What is told
//
//	sentence                          from
//	"A person and a dog are in view." tracks that are there at the first sample
//	"A dog enters from the left."     a track that begins at an edge, or moves in from it
//	"A third bottle appears."         one that begins anywhere else; the number is that of
//	                                  those in view at the same time
//	"The dog leaves to the right."    as for its beginning
//	"The dog is no longer in view."
//	"The dog moves to the right."     a way of at least a quarter of the frame, but for
//	                                  that of all things at once: the camera moved
//	"The person sits down."           the joints, over two neighbouring samples
//	"The scene changes: …"            nothing of one sample is found in the next
//
// By which side a thing comes and goes is the rule of answers (answer.Track.Comes).
//
// When a thing came or went the fine looks between two samples tell, where there are any.
//
// # Guarantees
//
//   - A thing is told when its track is trusted as those of an answer are
//     (domain/answer), one of its sights is probable (Sure), and no other class claims
//     its place: never for one weak sight. It keeps its name while it is missed for a
//     moment, or hidden for Patience at one place.
//   - No thing is said to be the same as one that left before, and none is given a
//     property that was not measured.
//   - At least one and at most [MaxEntries] entries, the first at 0, ordered by time,
//     none after the end of the video; each a sentence of fewer than [MaxLen] bytes of
//     printable text, whatever the classes of a model are called.
package narrative
