package query

import (
	"slices"
	"strings"
	"unicode"

	"vqa/domain/query/vocabulary"
)

// maxTokens bounds the work on one prompt. The rules do not answer longer questions.
const maxTokens = 80

// token is one word in lower case.
type token struct {
	w string
	// name is true for a capitalized word inside a sentence.
	name bool
}

// words are tokens with helpers to match phrases.
type words []token

func (ts words) at(i int) string {
	if i < 0 || i >= len(ts) {
		return ""
	}
	return ts[i].w
}

func (ts words) has(w string) bool {
	return slices.ContainsFunc(ts, func(t token) bool { return t.w == w })
}

func (ts words) text() string {
	parts := make([]string, len(ts))
	for i, t := range ts {
		parts[i] = t.w
	}
	return strings.Join(parts, " ")
}

// phraseSet finds the longest of many phrases at an index.
type phraseSet struct {
	byFirst map[string][][]string
}

func phrases(text string) phraseSet { return phrasesOf(set(text)) }

func phrasesOf[V any](m map[string]V) phraseSet {
	p := phraseSet{byFirst: map[string][][]string{}}
	for phrase := range m {
		parts := strings.Fields(phrase)
		p.byFirst[parts[0]] = append(p.byFirst[parts[0]], parts)
	}
	for _, list := range p.byFirst {
		slices.SortFunc(list, func(a, b []string) int { return len(b) - len(a) })
	}
	return p
}

// match returns the number of words of the longest phrase at i, or 0.
func (p phraseSet) match(ts words, i int) int {
next:
	for _, parts := range p.byFirst[ts.at(i)] {
		for k, part := range parts {
			if ts.at(i+k) != part {
				continue next
			}
		}
		return len(parts)
	}
	return 0
}

// lookup returns the value of the longest key of m at i.
func lookup[V any](m map[string]V, p phraseSet, ts words, i int) (value V, n int) {
	n = p.match(ts, i)
	if n > 0 {
		value = m[ts[i:i+n].text()]
	}
	return value, n
}

var contractions = map[string]string{
	"isnt": "is n't", "arent": "are n't", "wasnt": "was n't", "doesnt": "does n't", "dont": "do n't",
	"didnt": "did n't", "cant": "can n't", "cannot": "can not", "theres": "there is", "whats": "what is",
	"whos": "who is", "noone": "no one", "gonna": "going to", "there's": "there is", "what's": "what is",
	"who's": "who is", "it's": "it is", "where's": "where is", "that's": "that is", "how's": "how is",
	"when's": "when is", "he's": "he is", "she's": "she is", "let's": "let us", "i'd": "i would", "i'm": "i am", "im": "i am",
	"can't": "can n't", "won't": "will n't", "ain't": "is n't", "pls": "please", "plz": "please",
	"here's": "here is", "someone's": "someone is", "anyone's": "anyone is", "they're": "they are",
	"nobody's": "no one is", "nobody": "no one", "hm": "how many", "teh": "the", "ther": "there", "thier": "their", "tehre": "there", "hwo": "how",
	"coud": "could", "u": "you", "r": "are", "any1": "anyone", "some1": "someone",
}

var apostrophes = strings.NewReplacer("’", "'", "‘", "'", "`", "'")

var spelling = vocabulary.NewSpelling(nil)

// sentences splits a prompt into sentences of tokens. Punctuation ends a sentence, except
// inside a number or a time ("3.5", "0:05"). Commas are tokens.
func sentences(prompt string) []words {
	var out []words
	var current words
	count := 0
	flush := func() {
		if len(current) > 0 {
			out = append(out, current)
		}
		current = nil
	}
	rs := []rune(apostrophes.Replace(prompt))
	for i := 0; i < len(rs) && count < maxTokens; {
		r := rs[i]
		switch {
		case wordRune(rs, i):
			j := i
			for j < len(rs) && wordRune(rs, j) {
				j++
			}
			name := unicode.IsUpper(r) && len(current) > 0
			for _, w := range splitWord(strings.ToLower(string(rs[i:j]))) {
				if !name {
					w = spelling.Correct(w)
				}
				current = append(current, token{w: w, name: name})
				count++
			}
			i = j
			continue
		case r == ',' || r == '&':
			current = append(current, token{w: string(r)})
			count++
		case r == '+':
			current = append(current, token{w: "plus"})
			count++
		case r == '.' || r == '?' || r == '!' || r == ';' || r == '\n' || r == ':':
			flush()
		case strings.ContainsRune("-–—", r) && isBetween(rs, i, unicode.IsDigit):
			current = append(current, token{w: "to"})
			count++
		case !unicode.IsSpace(r) && !strings.ContainsRune("\"'()[]{}-–—…“”¿¡", r) && !unicode.IsMark(r) && !unicode.Is(unicode.So, r):
			// An unknown sign becomes a token, so that the rules do not overlook it.
			current = append(current, token{w: string(r)})
			count++
		}
		i++
	}
	flush()
	return out
}

// wordRune reports whether rs[i] belongs to a word.
func wordRune(rs []rune, i int) bool {
	r := rs[i]
	if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
		return true
	}
	if i == 0 || i+1 >= len(rs) {
		return false
	}
	before, after := rs[i-1], rs[i+1]
	switch r {
	case '.', ':':
		return unicode.IsDigit(before) && unicode.IsDigit(after)
	case ',':
		// "1,000"
		digits := 0
		for k := i + 1; k < len(rs) && digits < 4 && unicode.IsDigit(rs[k]); k++ {
			digits++
		}
		return unicode.IsDigit(before) && digits == 3
	case '\'', '-', '/':
		return unicode.IsLetter(before) && unicode.IsLetter(after)
	}
	return false
}

// isBetween reports whether the two neighbors of rs[i] are of a kind.
func isBetween(rs []rune, i int, kind func(rune) bool) bool {
	return i > 0 && i+1 < len(rs) && kind(rs[i-1]) && kind(rs[i+1])
}

// splitWord expands contractions and splits words joined by a hyphen or a slash.
func splitWord(w string) []string {
	if tens, ones, ok := strings.Cut(w, "-"); ok && numbers[tens] >= 20 && isBelow100(ones) {
		return []string{tens, ones}
	}
	if a, b, ok := strings.Cut(w, "/"); ok && (vocabulary.Noun(vocabulary.Singular(a)) && vocabulary.Noun(vocabulary.Singular(b)) || colorNames[a] != "" && colorNames[b] != "") {
		return []string{a, "or", b}
	}
	if a, b, ok := strings.Cut(w, "-and-"); ok && colorNames[a] != "" && colorNames[b] != "" {
		return []string{a, "and", b}
	}
	if parts := strings.ReplaceAll(w, "-", " "); parts != w && !vocabulary.Noun(w) && vocabulary.Noun(vocabulary.Singular(parts)) {
		return strings.Fields(parts)
	}
	if full, ok := contractions[w]; ok {
		return strings.Fields(full)
	}
	if shade, color, ok := strings.Cut(w, "-"); ok && shades[shade] != "" && colorNames[color] != "" {
		return []string{shade, color}
	}
	if stem, ok := strings.CutSuffix(w, "n't"); ok && stem != "" {
		return []string{stem, "n't"}
	}
	if stem, ok := strings.CutSuffix(w, "'re"); ok && stem != "" {
		return []string{stem, "are"}
	}
	return []string{w}
}

// titleCase reports whether the prompt capitalizes nearly every word, so that a capital does
// not mean a name.
func titleCase(ts words) bool {
	names := 0
	for _, t := range ts {
		if t.name {
			names++
		}
	}
	return names*4 >= (len(ts)-1)*3 && names > 1
}
