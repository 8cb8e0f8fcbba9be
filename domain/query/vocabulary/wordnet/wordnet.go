package wordnet

import (
	_ "embed"
	"strconv"
	"strings"
)

//go:embed wordnet.txt
var text string

// None is the count of a part of speech that a word does not have.
const None = -1

// Word is what WordNet says of one word. Each count is None, or the number of uses in the tagged
// texts, 0 or more.
type Word struct {
	Noun, Verb, Adjective, Adverb int
	// Physical is true for a noun that can be seen.
	Physical bool
	// Kind is the class of COCO of which a noun is a kind, by its main sense: "person", "dog"
	// for "beagle", or another animal or vehicle. It is "" for other nouns.
	Kind string
}

// Lookup finds a base form in lower case: a word, or a noun of several words with spaces between
// them.
func Lookup(word string) (w Word, ok bool) {
	line, ok := find(strings.ReplaceAll(word, " ", "_"))
	if !ok {
		return Word{Noun: None, Verb: None, Adjective: None, Adverb: None}, false
	}
	return parse(line), true
}

// find returns the rest of a word's line.
func find(word string) (rest string, ok bool) {
	low, high := 0, len(text) // both begin a line
	for low < high {
		begin := strings.LastIndexByte(text[:low+(high-low)/2], '\n') + 1
		line, _, _ := strings.Cut(text[begin:], "\n")
		// A space is less than every letter, so the words sort as the lines do.
		switch at, rest, _ := strings.Cut(line, " "); {
		case line[0] == '#' || at < word:
			low = begin + len(line) + 1
		case at > word:
			high = begin
		default:
			return rest, true
		}
	}
	return "", false
}

func parse(line string) Word {
	w := Word{Noun: None, Verb: None, Adjective: None, Adverb: None}
	for part := range strings.SplitSeq(line, " ") {
		part, kind, _ := strings.Cut(part, ":")
		digits := strings.TrimSuffix(part[1:], "p")
		count, err := strconv.Atoi(digits)
		if err != nil {
			panic("wordnet.txt: " + line)
		}
		switch part[0] {
		case 'n':
			w.Noun, w.Physical, w.Kind = count, digits != part[1:], kind
		case 'v':
			w.Verb = count
		case 'a':
			w.Adjective = count
		case 'r':
			w.Adverb = count
		}
	}
	return w
}
