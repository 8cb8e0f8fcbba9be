// Package query holds the compiled query: the closed, machine-readable form of a prompt
// about a video.
//
// A client sends either a prompt or a Query. Package english turns a prompt into a [Query].
// [Decode] and [Validate] check a Query strictly. Every other package reads only the Query.
//
// A [Question] is the typed form of a query: an [Ask], such as when, about a [Statement]. [Encode] and
// [Query.Question] translate between both forms without loss.
//
// Imports: package vocabulary and the standard library only. It uses neither a clock nor randomness
// nor a context.
//
//   - A term is the user's own noun in the singular. A vocabulary translates it into the classes of
//     one model, so one query serves every model.
//   - unassessable_components names the parts that no model here can assess: sound, identity, text,
//     taste, exhaustive counts.
//   - Package answer says which forms are answered today (answer.Assessable).
//
// The intent follows from this table. The first match wins:
//
//	nothing assessable asked        open_ended
//	"how many", "how many times"    count
//	"when", first, last, how long,  segment
//	a time window
//	more than one subject, groups   compound
//	a number on the subject         count_threshold
//	an action condition             action
//	a location condition            location
//	a state condition               state
//	an attribute condition          attribute
//	negated                         absence
//	otherwise                       presence
//
// # Normal forms of conditions
//
// Package english writes the values of conditions in the forms below. A query from a client may hold
// any text. A value outside these forms is in the user's words and means nothing to a model:
// an answer that needs it is indeterminate. UPPER CASE stands for a part, [x] for an optional
// part.
//
//	attribute  COLORS                    of the object itself
//	           big, small                relative to the frame
//	           wearing [COLORS] ITEM     clothing; "wearing COLORS" is any garment
//	           any other word or phrase  "fluffy", "with long hair"
//	action     VERB [OBJECT]             "running", "raising hand", "riding bicycle";
//	                                     with a direction: "walking toward left",
//	                                     "entering from left"; the frame itself is never
//	                                     the object; walking, coming or driving into or
//	                                     out of the frame is entering or leaving
//	location   left, centre, right, top, middle, bottom
//	           top left, top right, bottom left, bottom right
//	           background, foreground, corner, outside, inside
//	           RELATION OBJECT           "next to bus"
//	state      STATE                     "open"
//	time       first N s, last N s       N is seconds, a decimal number
//	           N to N s, after N s, before N s, at N s
//	           beginning, middle, end, first half, second half
//	           always: in every frame, not only in some
//
//	COLORS     [dark|light ]COLOR, or two of them: "black and white"
//	COLOR      black, white, gray, red, orange, yellow, green, blue, purple, pink,
//	           brown; other color words become one of these ("navy" is "dark blue"),
//	           except those between two ("turquoise")
//	VERB       the -ing form; synonyms and phrases ("jogging", "with a hand up") become
//	           one of sitting, standing, lying, kneeling, crouching, walking, running,
//	           jumping, falling, raising hand, crossing arms, waving
//	RELATION   next to, near, left of, right of, in front of, behind, on, in, under,
//	           above, between, at, against, across, through, along, from, into, onto,
//	           toward, outside
//	OBJECT     a noun phrase without articles, its noun in the singular; an object in
//	           search_terms is that thing, any other one says more ("red bus") and only
//	           its noun is in search_terms
//	STATE      open, closed, on, off, empty, full, locked, unlocked, parked, still,
//	           asleep, awake, burning, dark, bright, crowded, folded and others
//
// The conditions of one subject hold for the same instance at the same time. Two cases
// combine conditions with "or":
//
//   - Locations of a single subject combine by the operator ("on the left or on the right").
//   - Other alternatives become subjects: "a red or blue car" is a compound of a red car and
//     a blue car with the operator any.
//
// A compound with the operator all asks for its subjects in the same frame. Two subjects of
// one kind with numbers ask for both numbers: "two to four dogs" are at least two dogs and at
// most four. Each subject gets a copy of a time window.
//
// Four readings are conventions:
//
//   - A definite setting ("in the room", "on the road", "walking down the street") is the
//     scene of the video and narrows nothing. The same holds for the ground under people who
//     stand, walk, run or fall.
//   - A bare number means exactly that many ("are there two dogs").
//   - A definite subject is presupposed. "Is the dog barking" asks only for a sound, "is
//     there a barking dog" also asks for the dog.
//   - A place at the end of a list belongs to each subject ("a cup and a bowl on the table").
package query
