package vocabulary

import (
	"slices"
	"strings"
	"unicode"
)

const (
	// minCorrected is the length of the shortest word that is corrected. In shorter words a
	// single edit too often makes another word (goat, boat).
	minCorrected = 5
	// minCorrectedTwice is the length from which two edits are corrected ("elefant").
	minCorrectedTwice = 7
)

// A Spelling corrects words to the words that it knows. It is immutable and safe for concurrent
// use.
type Spelling struct {
	known    map[string]bool
	byLetter map[byte][]string // in order, by the first letter
}

// NewSpelling returns a Spelling that knows these words, the nouns of the tables and common
// words.
func NewSpelling(words []string) *Spelling {
	s := &Spelling{known: setOf(words), byLetter: map[byte][]string{}}
	for w := range nouns {
		s.known[w] = true
	}
	for w := range common {
		s.known[w] = true
	}
	for w := range s.known {
		if !strings.Contains(w, " ") && len(w) >= minCorrected-1 {
			s.byLetter[w[0]] = append(s.byLetter[w[0]], w)
		}
	}
	for _, list := range s.byLetter {
		slices.Sort(list)
	}
	return s
}

// Correct returns the only known word that is close to a word in lower case. It returns any
// other word unchanged, and also an English word, in any inflection. The caller does not pass
// names, which are capitalized.
func (s *Spelling) Correct(word string) string {
	if word == "" || s.known[word] || English(word) {
		return word
	}
	candidates := s.byLetter[word[0]]
	sameNoun := func(a, b string) bool { return Singular(a) == Singular(b) }
	if found, ok := closest(word, candidates, sameNoun); ok {
		return found
	}
	if one := Singular(word); one != word {
		if found, ok := closest(one, candidates, sameNoun); ok {
			return found
		}
	}
	return word
}

// common holds frequent words that are no nouns of the tables.
var common = setOf(list("common"))

// English reports whether a word in lower case is English, in any inflection.
func English(word string) bool {
	for _, w := range []string{word, Singular(word)} {
		if common[w] || inLexicon(w) {
			return true
		}
	}
	for form := Base; form <= Gerund; form++ {
		// BaseVerb also reads "runing", which is not English.
		if base, ok := BaseVerb(word, form); ok && !(doubles(base) && (word == base+"ing" || word == base+"ed")) {
			return true
		}
	}
	for _, ending := range []string{"er", "est"} {
		if stem, ok := strings.CutSuffix(word, ending); ok && slices.ContainsFunc(stems(stem), isAdjective) {
			return true
		}
	}
	return false
}

// closest returns the candidate with the fewest edits from a word. The first letter must match.
// ok is false when none is close enough, or when two are that do not mean the same.
func closest(word string, candidates []string, same func(a, b string) bool) (found string, ok bool) {
	if strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLower(r) && r != ' ' || r > unicode.MaxASCII }) {
		return "", false
	}
	least := 2
	if len(word) >= minCorrectedTwice {
		least = 3
	}
	for _, c := range candidates {
		if len(word) < minCorrected-1 || c[0] != word[0] || max(len(c), len(word)) < minCorrected && !swapped(word, c) {
			continue
		}
		switch n := edits(word, c, least); {
		case n < least:
			found, ok, least = c, true, n
		case n == least && found != "" && !same(found, c):
			ok = false
		}
	}
	return found, ok
}

// swapped reports whether two neighboring letters of a changed places in b.
func swapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	i := 0
	for i < len(a)-2 && a[i] == b[i] {
		i++
	}
	return len(a) > 1 && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// edits returns the number of letters that are added, dropped, replaced or swapped with their
// neighbor to make b of a. Above limit it returns limit + 1.
func edits(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	var rows [3][]int
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
	}
	before, above, row := rows[0], rows[1], rows[2]
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, above, row = above, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := above[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			row[j] = min(above[j]+1, row[j-1]+1, replaced)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return min(row[len(b)], limit+1)
}

var slang = func() map[string]string {
	out := map[string]string{}
	for row := range rows("slang") {
		out[row[0]] = strings.Join(row[1:], " ")
	}
	return out
}()

// Plain returns the words that a short form or slang in lower case stands for, with spaces
// between them: "are not" for "arent". It returns any other word unchanged.
func Plain(word string) string {
	if plain, ok := slang[word]; ok {
		return plain
	}
	return word
}
