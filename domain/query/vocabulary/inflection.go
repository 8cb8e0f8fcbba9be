package vocabulary

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"vqa/domain/query/vocabulary/wordnet"
)

var plurals = func() map[string]string {
	out := map[string]string{}
	for row := range rows("plurals") {
		for _, w := range row {
			out[w] = row[0]
		}
	}
	return out
}()

// Singular returns the singular of an English noun phrase in lower case; only the last word
// changes. A singular comes back unchanged. An unknown word loses its s.
func Singular(term string) string {
	if one, ok := plurals[term]; ok {
		return one
	}
	if nouns[term] {
		return term
	}
	if i := strings.LastIndexByte(term, ' '); i >= 0 {
		return term[:i+1] + Singular(term[i+1:])
	}
	one := singularWord(term)
	if again, ok := plurals[one]; ok {
		// People write "childrens" for many, and for the possessive.
		return again
	}
	return one
}

func singularWord(w string) string {
	for _, ending := range []string{"men", "children"} {
		if stem, ok := strings.CutSuffix(w, ending); ok && isNoun(stem+plurals[ending]) && !isNoun(w) {
			return stem + plurals[ending]
		}
	}
	stem, ok := strings.CutSuffix(w, "s")
	if !ok || len(w) < 3 || strings.HasSuffix(w, "ss") || common[w] {
		return w
	}
	var candidates []string
	switch {
	case strings.HasSuffix(w, "ies"):
		candidates = []string{w[:len(w)-3] + "y", stem}
	case strings.HasSuffix(w, "ves"):
		candidates = []string{w[:len(w)-3] + "f", w[:len(w)-3] + "fe", stem}
	case strings.HasSuffix(w, "es"):
		candidates = []string{stem, w[:len(w)-2]}
	default:
		candidates = []string{stem}
	}
	best := slices.MaxFunc(candidates, func(a, b string) int { return cmp.Compare(frequency(a), frequency(b)) })
	switch {
	case isNoun(best) && frequency(best) >= frequency(w):
		return best
	case inLexicon(w) || len(w) < 4 || strings.HasSuffix(w, "us") || strings.HasSuffix(w, "is"):
		return w
	case hasAny(w, "sses", "shes", "ches", "xes", "zzes"):
		return w[:len(w)-2]
	}
	return candidates[0]
}

func hasAny(w string, endings ...string) bool {
	return slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(w, e) })
}

// frequency compares nouns: those of the tables come first, and words that are no nouns last.
func frequency(noun string) int {
	if nouns[noun] {
		return math.MaxInt
	}
	w, _ := wordnet.Lookup(noun)
	return w.Noun
}

func inLexicon(w string) bool { _, ok := wordnet.Lookup(w); return ok }

func isNoun(w string) bool { return frequency(w) != wordnet.None }

func isAdjective(w string) bool { a, _ := wordnet.Lookup(w); return a.Adjective >= 0 }

// Form is the inflection of a verb.
type Form int

// The forms. A regular verb has one form for past and participle.
const (
	Base       Form = iota // "ride"
	Third                  // "rides"
	Past                   // "rode"
	Participle             // "ridden"
	Gerund                 // "riding"
)

// irregular maps the irregular forms of verbs to their base forms.
var irregular = func() map[Form]map[string]string {
	out := map[Form]map[string]string{Third: {"is": "be", "has": "have"}, Past: {}, Participle: {}}
	for row := range rows("verbs") {
		for i, form := range []Form{Past, Participle} {
			for w := range strings.SplitSeq(row[1+i], "/") {
				if w != "-" {
					out[form][w] = row[0]
				}
			}
		}
	}
	return out
}()

// BaseVerb returns the base form of a word that is a verb in the given form. When several fit,
// it is the most frequent: "lie" for "lying".
func BaseVerb(word string, form Form) (base string, ok bool) {
	if base, ok := irregular[form][word]; ok {
		return base, true
	}
	var candidates []string
	switch form {
	case Base:
		candidates = []string{word}
	case Third:
		if stem, ok := strings.CutSuffix(word, "s"); ok {
			candidates = []string{stem}
			if stem, ok := strings.CutSuffix(stem, "e"); ok {
				candidates = append(candidates, stem)
			}
			if stem, ok := strings.CutSuffix(stem, "ie"); ok {
				candidates = append(candidates, stem+"y")
			}
		}
	case Past, Participle:
		if stem, ok := strings.CutSuffix(word, "ed"); ok {
			candidates = stems(stem)
		}
	case Gerund:
		if stem, ok := strings.CutSuffix(word, "ing"); ok {
			candidates = stems(stem)
			if strings.HasSuffix(stem, "i") {
				candidates = []string{stem} // "skiing": a y stays, as in "carrying"
			}
			if stem, ok := strings.CutSuffix(stem, "y"); ok {
				candidates = append(candidates, stem+"ie")
			}
		}
	}
	candidates = slices.DeleteFunc(candidates, func(w string) bool { return verbUses(w) < 0 })
	if len(candidates) == 0 {
		return "", false
	}
	return slices.MaxFunc(candidates, func(a, b string) int { return cmp.Compare(verbUses(a), verbUses(b)) }), true
}

func verbUses(w string) int { v, _ := wordnet.Lookup(w); return v.Verb }

// stems returns the base forms that may be in front of an ending that begins with a vowel: "ride"
// and "rid" for "rid", "run" for "runn", "carry" for "carri".
func stems(stem string) []string {
	n := len(stem)
	switch {
	case n < 2:
		return nil
	case stem[n-1] == 'i':
		return []string{stem[:n-1] + "y", stem}
	case stem[n-1] == stem[n-2]:
		return []string{stem[:n-1], stem}
	}
	return []string{stem, stem + "e"}
}

// GerundOf returns the -ing form of a verb's base form.
func GerundOf(base string) string {
	n := len(base)
	switch {
	case n < 2:
		return base + "ing"
	case strings.HasSuffix(base, "ie"):
		return base[:n-2] + "ying"
	case strings.HasSuffix(base, "e") && base != "be" && !hasAny(base, "ee", "oe", "ye"):
		return base[:n-1] + "ing"
	}
	if doubles(base) {
		return base + base[n-1:] + "ing"
	}
	return base + "ing"
}

// stressed are verbs of two syllables that double their last letter, because the second is
// stressed.
var stressed = map[string]bool{"begin": true, "forget": true, "admit": true, "occur": true, "refer": true}

// doubles reports whether a verb doubles its last consonant in front of an ending.
func doubles(base string) bool {
	n := len(base)
	if n < 3 || vowel(base[n-1]) || !vowel(base[n-2]) || vowel(base[n-3]) && !strings.HasPrefix(base, "qu") || strings.IndexByte("wxy", base[n-1]) >= 0 {
		return false
	}
	syllables := 0
	for i := range n {
		if vowel(base[i]) && (i == 0 || !vowel(base[i-1])) {
			syllables++
		}
	}
	return syllables == 1 || stressed[base]
}

func vowel(c byte) bool { return strings.IndexByte("aeiou", c) >= 0 }
