// Package english reads questions in English: [Compile] turns a prompt into a compiled query.
//
// The grammar is data. grammar.txt has the rules and words.txt the words with a special meaning; both say
// in their first lines what they contain. All other words come from package vocabulary and its WordNet:
// every English verb is a verb, so that "is the dog eating" is understood, whether or not an engine can see
// it.
//
// How it works:
//
//  1. [tokens] splits a prompt into words, without short forms, slang, signs and slips of the pen.
//  2. [leavesOf] finds the parts of speech of each word, with costs: an unusual one costs more.
//  3. [grammar.parse] finds all readings of the whole sentence. It is an Earley parser that keeps every way
//     to read each part. Of each part it keeps the four cheapest readings that differ in meaning.
//  4. The actions of the rules (things.go, predicates.go, clauses.go) build the meaning of each reading,
//     and a clause becomes a typed [query.Question].
//  5. What no model can assess is taken out and noted (obstacles.go), and [query.Encode] writes the query.
//
// Guarantees:
//
//   - Compile never panics and is deterministic. Each query that it returns is valid. A prompt of 30 words
//     takes less than a millisecond on average; longer ones are read without politeness or not at all.
//   - Every word is used or the prompt is not understood. A rule that ignores the meaning of one of its
//     elements is refused when the grammar is loaded, and an action that does not read the value of a label
//     makes no meaning.
//   - A prompt with two equally good readings of different meaning is not answered. [Suggestions] writes both.
//     The same goes for a prompt that asks two questions.
//
// Conventions of reading:
//
//   - A definite setting ("in the room", "on the road", "walking down the street") is the scene of the
//     video and narrows nothing. So is the ground under people who stand, walk, run or fall.
//   - A bare number means exactly that many ("are there two dogs").
//   - A definite subject is presupposed when the question describes it ("is the man sitting"). It is not
//     when the question asks for it ("is the man visible", "is there the man").
//   - A place at the end of a list belongs to each thing ("a cup and a bowl on the table").
//   - "Another dog" and "a second dog" are at least two dogs. "Both dogs" are at least two, and all.
//   - A cyclist is a person "riding bicycle". A pedestrian is a person who rides neither a bicycle nor a
//     motorcycle. A presupposed rider who falls or jumps keeps the word.
//   - An empty room is one with nobody in it.
//   - A question which of two values holds ("is the door open or closed") has no yes or no, and is not
//     answered.
//   - Distinct individuals over a whole video cannot be counted; such a question is not answered.
//
// Imports: packages query and vocabulary, and the standard library. It uses neither a clock nor randomness
// nor a context.
package english
