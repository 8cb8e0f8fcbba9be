package english

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"vqa/domain/query/vocabulary"
)

// token is one word in lower case.
type token struct {
	w string
	// name is true for a capitalized word inside a sentence.
	name bool
}

func text(words []token) string {
	parts := make([]string, len(words))
	for i, t := range words {
		parts[i] = t.w
	}
	return strings.Join(parts, " ")
}

var (
	// spelled rewrites signs that stand for words or are written in several ways.
	spelled = strings.NewReplacer("’", "'", "‘", "'", "`", "'", "´", "'", "&", " and ", "≥", " >= ", "≤", " <= ", "–", "-", "—", " - ", "“", " ", "”", " ")
	between = regexp.MustCompile(`(\d)\s*-\s*(\d)`)
	orMore  = regexp.MustCompile(`\b(\d+)\s?\+`)
	units   = regexp.MustCompile(`(?i)\b(\d+(?:\.\d+)?)(s|secs?|mins?|m|h)\b`)
	commas  = regexp.MustCompile(`(\d),(\d\d\d)\b`)
	pieces  = regexp.MustCompile(`\d+:\d\d(?::\d\d)?(?:\.\d+)?|\d+(?:\.\d+)?(?:[\p{L}-]+[\p{L}\d]*)?|[\p{L}\p{M}]+\d+\b|'s\b|[\p{L}\p{M}]+(?:'[\p{L}]+)?(?:-[\p{L}]+)*(?:/[\p{L}]+)*|>=|<=|[^\s]`)
	// dropped are signs that mean nothing between words.
	dropped = "\"'()[]{}*_~#…¡^|"
)

// contracted are the short forms of words behind an apostrophe.
var contracted = map[string]string{
	"can't": "can not", "won't": "will not", "ain't": "is not", "n't": "not", "'re": "are", "'ve": "have", "'ll": "will", "'m": "am", "'d": "would",
}

// subjectsWithIs are the words after which 's is "is", not the sign of an owner.
var subjectsWithIs = setOf(`there what when where who it that he she how here this nobody`)

// tokens splits a prompt into words in lower case, without short forms, slang and slips.
func tokens(prompt string) []token {
	prompt = spelled.Replace(prompt)
	prompt = commas.ReplaceAllString(prompt, "$1$2")
	prompt = between.ReplaceAllString(prompt, "$1 to $2")
	prompt = orMore.ReplaceAllString(prompt, "$1 or more ")
	prompt = units.ReplaceAllString(prompt, "$1 $2")
	var out []token
	for _, piece := range pieces.FindAllString(prompt, -1) {
		out = addPiece(out, piece)
		if len(out) > maxTokens {
			break
		}
	}
	return withoutTitleCase(out)
}

// addPiece adds the tokens of one piece of a prompt.
func addPiece(out []token, piece string) []token {
	first, w := []rune(piece)[0], strings.ToLower(piece)
	begins := len(out) == 0 || out[len(out)-1].w == "."
	switch {
	case strings.ContainsAny(w, "?!.;:\n") && len(w) == 1:
		w = "."
	case strings.Contains(dropped, w) || unicode.Is(unicode.So, first) || unicode.Is(unicode.Sk, first) || unicode.IsMark(first) || unicode.Is(unicode.Cf, first):
		return out
	case w == "+":
		w = "plus"
	}
	if w == "." || w == "," || w == "-" {
		if !begins && out[len(out)-1].w != w {
			out = append(out, token{w: w})
		}
		return out
	}
	name := unicode.IsUpper(first) && !begins && w != "i"
	for _, word := range expand(w) {
		if word == "" || tables["noise"][word] != "" {
			continue
		}
		out = append(out, token{corrected(word, name), name && !listed(word)})
	}
	return out
}

// expand replaces short forms and splits words joined by a sign.
func expand(w string) []string {
	if full, ok := contracted[w]; ok {
		return strings.Fields(full)
	}
	if plain := vocabulary.Plain(w); plain != w {
		return strings.Fields(plain)
	}
	if stem, ok := strings.CutSuffix(w, "'s"); ok && stem != "" {
		if subjectsWithIs[stem] {
			return []string{stem, "is"}
		}
		if stem == "let" {
			return []string{"let", "us"}
		}
		return []string{stem, "'s"}
	}
	for short, long := range contracted {
		if stem, ok := strings.CutSuffix(w, short); ok && stem != "" {
			return []string{stem, long}
		}
	}
	if w == "and/or" {
		return []string{"or"}
	}
	if strings.Contains(w, "/") {
		return strings.Fields(strings.ReplaceAll(w, "/", " or "))
	}
	parts := strings.Split(w, "-")
	if len(parts) > 1 && !slices.ContainsFunc(parts, func(p string) bool {
		_, num := number(p)
		return !num && colors[p] == "" && shades[p] == 0 && p != "and"
	}) {
		return parts // "twenty-one", "black-and-white"
	}
	if i := strings.LastIndexByte(w, '-'); i > 0 && !known(w) && !strings.HasSuffix(w, "ed") && !strings.HasSuffix(w, "en") {
		return strings.Fields(strings.ReplaceAll(w, "-", " "))
	}
	return []string{w}
}

// withoutTitleCase forgets the capitals of a prompt that capitalizes nearly every word.
func withoutTitleCase(words []token) []token {
	names, all := 0, 0
	for _, t := range words {
		if unicode.IsLetter([]rune(t.w)[0]) {
			all++
		}
		if t.name {
			names++
		}
	}
	if names > 1 && names*4 >= (all-1)*3 {
		for i := range words {
			words[i].name = false
			words[i].w = corrected(words[i].w, false)
		}
	}
	return words
}

// number returns the value of a number word or of digits, up to the largest number of a query.
func number(w string) (int, bool) {
	if n, ok := numberWords[w]; ok {
		return n, true
	}
	n, err := strconv.Atoi(w)
	return n, err == nil && n >= 0 && n <= maxNumber
}
