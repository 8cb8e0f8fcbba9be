// Package vocabulary knows words: what they mean in the classes of a model, their inflections and
// their spelling. It knows nothing of sentences; package query reads those.
//
// The project's own tables come first: the text files in the folder words, which say what their
// lines mean. After them, the WordNet lexicon (package wordnet) says which nouns are a kind of
// person, animal or vehicle.
//
// Imports: wordnet and the standard library.
//
// # Classes
//
// A [Vocabulary] maps a word to the classes that it means, in one of three ways. The word means
// the whole class ("sofa") when it fits each instance. It is narrower when it fits only some
// ("puppy", "woman", "taxi", "nurse"). It is collective when it also covers things without a
// class ("animal"). Seeing the class is not evidence of a narrower word, and not seeing it is not
// evidence against a collective one. A word that is both ("scooter", "flower") is unknown. A
// word that only WordNet knows is narrower.
//
// # Inflection and spelling
//
//   - [Singular] and [BaseVerb] find base forms. They know irregular forms from tables, and check
//     the others against WordNet.
//   - [English] reports whether a word is English, in any inflection.
//   - A [Spelling] corrects a word that is close to exactly one known word. It never changes an
//     English word, so that a river is not read as a rider.
//   - [Plain] expands slang and contractions without an apostrophe.
package vocabulary

//go:generate go run ./document words/classes.txt ../../../docs/words.md
