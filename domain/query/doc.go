// Package query holds the compiled query: the closed, machine-readable form of a
// question about a video.
//
// A question reaches the service as a prompt, which [Compile] turns into a [Query]
// by rules, or as a Query that the client wrote, which [Decode] and [Validate]
// check strictly. Everything behind this package reads only the Query.
//
// Imports: the standard library only. There is no clock, no randomness, no context.
//
// Guarantees:
//
//   - Compile never panics, is deterministic and takes well under a millisecond;
//     each Query that it returns passes Validate and [Schema].
//   - A prompt is read wholly or not at all: words that the rules do not understand
//     make the query open_ended, they are never dropped. What no model here can
//     assess (sound, identity, text, taste, exhaustive counts) is named in
//     unassessable_components.
//   - A term is the user's own noun in the singular. What a model calls it is the
//     business of a [Vocabulary], so one query serves every model.
//   - [Assessable] is the only place that says which forms are answered today.
//
// How the intent follows from what the rules found, first match wins:
//
//	nothing assessable asked        open_ended
//	"when", a time window           segment
//	more than one subject           compound
//	"how many", "count"             count
//	a number on the subject         count_threshold
//	an action condition             action
//	a location condition            location
//	a state condition               state
//	an attribute condition          attribute
//	negated                         absence
//	otherwise                       presence
//
// Three readings are conventions: a definite setting ("in the room", "on the road") is
// the scene that the video shows and narrows nothing; a bare number means exactly ("are there two dogs"),
// and a definite subject is presupposed, so that "is the dog barking" asks only for
// what cannot be heard, while "is there a barking dog" also asks for the dog.
package query
