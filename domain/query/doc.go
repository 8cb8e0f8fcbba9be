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
//   - Compile never panics, is deterministic and takes well under a millisecond, also
//     for the longest prompts; each Query that it returns passes Validate and [Schema].
//   - A prompt is read wholly or not at all: words that the rules do not understand
//     make the query open_ended, they are never dropped. So do questions that a Query
//     cannot hold: how often, in which order, compared with what, except for what, of
//     all or most, "sit down and stand up"; and those that say something of one of two
//     people, but not of whom ("is there a man next to a woman in red"). What no model here
//     can assess (sound, identity, text, taste, exhaustive counts) is named in
//     unassessable_components.
//   - A definite subject of which something is said is presupposed ("is the man sitting");
//     one that is asked for is not ("is the man visible", "is there the man").
//   - A term is the user's own noun in the singular. What a model calls it is the
//     business of a [Vocabulary], so one query serves every model.
//   - A word for somebody by what is ridden is what it says: a cyclist is a person "riding
//     bicycle", a pedestrian one who is riding neither a bicycle nor a motorcycle. It
//     stays a word where another thing is placed by it ("next to a cyclist"), and where it is
//     presupposed of who falls or jumps.
//   - A Vocabulary knows a word by the class that it means. It means the class wholly
//     ("sofa") when each instance of the class may be called so; it is narrower when only
//     some may ("puppy", "woman", "taxi", "nurse"), and collective when it also covers what
//     no class covers ("animal").
//     Seeing the class is then no evidence of a narrower word, and not seeing it none
//     against a collective one. A word that is both ("scooter", "flower") is unknown.
//   - A word one slip away from exactly one word that the rules know is read as that
//     word, unless it is an English word of its own or a capitalised name.
//   - [Assessable] is the only place that says which forms are answered today.
//
// How the intent follows from what the rules found, first match wins:
//
//	nothing assessable asked        open_ended
//	"when", a time window           segment, unless a number is asked for
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
// # Normal forms of conditions
//
// Compile writes the values of conditions as follows; a query that a client brings may
// hold any text. What stands outside these forms is in the user's words and nothing
// that a model was taught: an answer that needs it is indeterminate. UPPER CASE stands
// for a part, [x] for a part that may be missing.
//
//	attribute  COLOURS                   of the object itself
//	           big, small                relative to the frame
//	           wearing [COLOURS] ITEM    clothing; "wearing COLOURS" is any garment
//	           any other word or phrase  "fluffy", "with long hair"
//	action     VERB [OBJECT]             "running", "raising hand", "riding bicycle";
//	                                     a direction too: "walking toward left",
//	                                     "entering from left"; the picture that is
//	                                     entered or left is not named, and who walks,
//	                                     comes or drives into it, or out of it, enters
//	                                     or leaves
//	location   left, centre, right, top, middle, bottom
//	           top left, top right, bottom left, bottom right
//	           background, foreground, corner, outside, inside
//	           RELATION OBJECT           "next to bus"
//	state      STATE                     "open"
//	time       first N s, last N s       N is seconds, a decimal number
//	           N to N s, after N s, before N s, at N s
//	           beginning, middle, end, first half, second half
//
//	COLOURS    [dark|light ]COLOUR, or two of them: "black and white"
//	COLOUR     black, white, gray, red, orange, yellow, green, blue, purple, pink,
//	           brown; other words for a colour are folded into these ("navy" is
//	           "dark blue"), except where they lie between two ("turquoise")
//	VERB       the -ing form; sitting, standing, lying, kneeling, crouching, walking,
//	           running, jumping, falling, raising hand, crossing arms, waving are what
//	           synonyms and phrases are folded into ("jogging", "with a hand up")
//	RELATION   next to, near, left of, right of, in front of, behind, on, in, under,
//	           above, between, at, against, across, through, along, from, into, onto,
//	           toward, outside
//	OBJECT     a noun phrase without articles, its noun in the singular. When it is one
//	           of search_terms it is that thing; otherwise it says more ("red bus"),
//	           and only its noun is among them
//	STATE      open, closed, on, off, empty, full, locked, unlocked, parked, still,
//	           asleep, awake, burning, dark, bright, crowded, folded and others
//
// The conditions of one subject hold of the same instance at the same time; those of
// kind location combine by the operator when there is one subject ("on the left or on
// the right"). Other alternatives are subjects of their own: "a red or blue car" is a
// compound of a red car and a blue car with the operator any. A compound with the
// operator all asks for its subjects in the same frame, and two of the same kind with
// numbers ask for both numbers: "two to four dogs" are at least two dogs and at most
// four. Of a time window, each subject has a copy.
//
// Four readings are conventions: a definite setting ("in the room", "on the road",
// "walking down the street") is the scene that the video shows and narrows nothing, nor
// does the ground of those who stand, walk, run or fall; a bare number means exactly ("are
// there two dogs"); a definite subject is presupposed, so that "is the dog barking" asks
// only for what cannot be heard, while "is there a barking dog" also asks for the dog;
// and a place at the end of a list is that of all ("a cup and a bowl on the table").
package query
