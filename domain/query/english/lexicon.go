package english

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"

	"vqa/domain/query/vocabulary"
	"vqa/domain/query/vocabulary/wordnet"
)

//go:embed words.txt
var wordsText string

// tables holds words.txt: the normal form of each word, by table.
var tables = func() map[string]map[string]string {
	out := map[string]map[string]string{}
	name := ""
	for line := range strings.Lines(wordsText) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "["); ok {
			name = strings.TrimSuffix(rest, "]")
			out[name] = map[string]string{}
			continue
		}
		normal, words, folded := strings.Cut(line, ":")
		if !folded {
			words = line
		}
		for w := range strings.FieldsSeq(words) {
			w = strings.ReplaceAll(w, "_", " ")
			switch {
			case folded:
				out[name][w] = normal
			case name == "exclusive":
				out[name][w] = line
			default:
				out[name][w] = w
			}
		}
	}
	return out
}()

var (
	colors, garments, body, states, sizes = tables["colors"], tables["garments"], tables["body"], tables["states"], tables["sizes"]
	numberWords                           = func() map[string]int {
		out := map[string]int{}
		for w, n := range tables["numbers"] {
			out[w], _ = strconv.Atoi(n)
		}
		return out
	}()
	spelling = vocabulary.NewSpelling(func() []string {
		var out []string
		for name, table := range tables {
			if setOf("audio speech text labels subjective identity other actions")[name] {
				continue
			}
			for w := range table {
				out = append(out, strings.Fields(w)...)
			}
		}
		for _, name := range english.names {
			if isWord(name) && !strings.Contains(name, "/") {
				out = append(out, name)
			}
		}
		return out
	}())
	// compounds are the first words of nouns of several words.
	compounds = func() map[string]bool {
		out := map[string]bool{}
		for _, n := range slices.Concat(vocabulary.Nouns(), keys(garments), keys(tables["audio"]), keys(tables["text"]), keys(tables["scenes"])) {
			if first, _, ok := strings.Cut(n, " "); ok {
				out[first] = true
			}
		}
		return out
	}()
)

func setOf(words string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		out[w] = true
	}
	return out
}

func keys(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}

// grammatical reports whether a word is part of the grammar.
func grammatical(w string) bool {
	_, ok := english.ids[w]
	return ok && isWord(w)
}

// listed reports whether a word is one of the product's own, so that a capital does not make it a name.
func listed(w string) bool {
	one := vocabulary.Singular(w)
	_, num := number(w)
	return grammatical(w) || vocabulary.Noun(one) || garments[one] != "" || body[one] != "" || colors[w] != "" || compounds[w] || num ||
		tables["media"][one] != "" || states[w] != "" || sizes[w] != "" || tables["noise"][w] != ""
}

func known(w string) bool { return listed(w) || vocabulary.English(w) }

// corrected returns a word without a slip of the pen.
func corrected(w string, name bool) string {
	if name || len(w) < 4 || known(w) {
		return w
	}
	return spelling.Correct(w)
}

// verb is a form of a verb: its -ing form and the form itself.
type verb struct{ ing, form string }

// notVerbs are words that WordNet has as verbs and people do not use as such.
var notVerbs = setOf(`right wrong red white black man people person bus cat dog car truck train boat house phone there no side part end corner seat table number left gone people missing lacking visible`)

// notAdjectives are words that WordNet has as adjectives and that mean something else in a question.
var notAdjectives = setOf(`second first last other same one only own next left right top bottom middle front back third fourth fifth whole entire many more
	few all single such ing zero several multiple different unique distinct individual separate my our total on off in out there here present visible shown seen found missing gone absent nowhere invisible together`)

// shades are adjectives that more often belong to the color behind them.
var shades = map[string]int{"still": 1, "light": 1, "dark": 1, "bright": 1, "pale": 1, "deep": 1}

// functionWords are read by the grammar alone.
var functionWords = setOf(`a an the this that these those is are was were be been being am do does did has have had can could will would may might
	shall should must not no and or but nor if so as at by for from in into of off on onto out over to up with without within i you he she it we they
	me him her us them his its their your my our there here then than when where what which who whom whose why how all any some each every both either
	neither most more less few many much very too also just only ever never again once twice yes ok please hi hey hello thanks now yet like inside
	outside past down round along behind under above below between beside against whether while during until till since because besides except
	minute minutes seconds hour hours present nowhere none everything only dozen dozens half lot lots plenty near another middle center centre left right time times moment moments first second third last anyone anybody someone somebody nobody everyone everybody anything something nothing anywhere somewhere let 's`)

// leavesOf returns a function that finds the readings of the words that end at a position.
func leavesOf(words []token) func(end int) []leaf {
	return func(end int) []leaf {
		out := single(words[end-1], end-1)
		for n := 2; n <= 3 && n <= end; n++ {
			from := end - n
			if !compounds[words[from].w] {
				continue
			}
			phrase := text(words[from:end])
			one := vocabulary.Singular(phrase)
			for _, noun := range []string{phrase, one} {
				g := garments[noun]
				if g == "" && !vocabulary.Noun(noun) && tables["audio"][noun] == "" && tables["text"][noun] == "" && tables["scenes"][noun] == "" {
					continue
				}
				out = append(out, leaf{english.ids["N"], from, -1, noun})
				if g != "" {
					out = append(out, leaf{english.ids["Garment"], from, -1, g})
				}
				break
			}
		}
		return out
	}
}

// single returns the readings of one word.
func single(t token, at int) []leaf {
	var out []leaf
	add := func(name string, cost int, v any) { out = append(out, leaf{english.ids[name], at, cost, v}) }
	w := t.w
	if t.name {
		add("Name", 0, w)
		return out
	}
	if grammatical(w) {
		add(w, 0, w)
	}
	if n, ok := number(w); ok {
		add("Number", 0, n)
		return out
	}
	if n, err := strconv.ParseFloat(w, 64); err == nil && strings.Contains(w, ".") {
		add("Decimal", 0, n)
		return out
	}
	if seconds, ok := clock(w); ok {
		add("Clock", 0, seconds)
		return out
	}
	color := colors[w]
	for _, ending := range []string{"-colored", "-coloured", "ish"} {
		if stem, ok := strings.CutSuffix(w, ending); ok && color == "" {
			color = colors[stem]
		}
	}
	if w == "reddish" {
		color = "red"
	}
	if color != "" {
		add("C", 0, color)
	}
	if functionWords[w] || !strings.ContainsAny(w[:1], "abcdefghijklmnopqrstuvwxyz") && len(out) == 0 {
		return out
	}
	nouns(w, color != "", add)
	verbs(w, add)
	adjectives(w, color != "", add)
	if len(out) == 0 && !vocabulary.English(w) {
		// A word that nobody knows may be anything that can be seen.
		add("N", 4, vocabulary.Singular(w))
		add("A", 6, w)
	}
	return out
}

// rare returns the cost of a part of speech: the fewer of a word's uses in WordNet's texts have it, the
// more it costs.
func rare(uses int, w wordnet.Word) int {
	total := max(w.Noun, 0) + max(w.Verb, 0) + max(w.Adjective, 0) + max(w.Adverb, 0)
	switch {
	case total == 0 || 10*uses >= 3*total:
		return 0
	case 20*uses >= total:
		return 1
	}
	return 2
}

func nouns(w string, color bool, add func(string, int, any)) {
	one := vocabulary.Singular(w)
	if g, ok := garments[w]; ok {
		add("Garment", 0, g)
	} else if g, ok := garments[one]; ok {
		add("Garment", 0, g)
	}
	if body[one] != "" {
		add("Body", 0, one)
	}
	entry, ok := wordnet.Lookup(one)
	_, gerund := vocabulary.BaseVerb(w, vocabulary.Gerund)
	switch {
	case vocabulary.Noun(w) && w != one && !vocabulary.Noun(one):
		add("N", 0, w)
	case garments[w] != "" && garments[one] == "":
		add("N", 0, w)
	case vocabulary.Noun(one) || garments[one] != "" || body[one] != "" || tables["media"][one] != "" || tables["scenes"][one] != "":
		add("N", 0, one)
	case color || !ok || entry.Noun == wordnet.None || gerund && !entry.Physical:
	case entry.Kind != "":
		add("N", rare(entry.Noun, entry), one)
	case entry.Physical:
		add("N", 1+rare(entry.Noun, entry), one)
	default:
		add("N", 3+rare(entry.Noun, entry), one)
	}
}

func verbs(w string, add func(string, int, any)) {
	if notVerbs[w] || colors[w] != "" || tables["media"][vocabulary.Singular(w)] != "" && w != "view" || body[vocabulary.Singular(w)] != "" && w != "face" {
		return
	}
	entry, _ := wordnet.Lookup(w)
	noun := vocabulary.Noun(w) || vocabulary.Noun(vocabulary.Singular(w))
	if base, ok := vocabulary.BaseVerb(w, vocabulary.Base); ok && (!noun || entry.Verb > 0) {
		cost := rare(max(entry.Verb, 0), entry)
		if noun {
			cost += 2
		}
		add("V", cost, verb{vocabulary.GerundOf(base), w})
	} else if base, ok := vocabulary.BaseVerb(w, vocabulary.Third); ok {
		e, _ := wordnet.Lookup(base)
		switch {
		case vocabulary.Noun(base) && e.Verb <= 0:
		case vocabulary.Noun(base) && 2*e.Verb < e.Noun:
			add("V", 4, verb{vocabulary.GerundOf(base), w})
		case vocabulary.Noun(base):
			add("V", 2, verb{vocabulary.GerundOf(base), w})
		default:
			add("V", 0, verb{vocabulary.GerundOf(base), w})
		}
	} else if base, ok := vocabulary.BaseVerb(w, vocabulary.Past); ok {
		cost := 0
		if states[w] != "" {
			cost = 4 // "cars parked on the left"
		}
		add("V", cost, verb{vocabulary.GerundOf(base), w})
	}
	if base, ok := vocabulary.BaseVerb(w, vocabulary.Gerund); ok && !vocabulary.Noun(w) {
		add("Ing", 0, verb{vocabulary.GerundOf(base), w})
	}
	if base, ok := vocabulary.BaseVerb(w, vocabulary.Participle); ok {
		add("Done", 0, verb{vocabulary.GerundOf(base), w})
	}
}

func adjectives(w string, color bool, add func(string, int, any)) {
	switch entry, _ := wordnet.Lookup(w); {
	case notAdjectives[w] || color:
	case sizes[w] != "" || states[w] != "" || tables["subjective"][w] != "":
		add("A", shades[w], w)
	case strings.Contains(w, "-") && entry.Adjective < 0 && entry.Noun < 0, compared(w):
		add("A", 1, w)
	case entry.Adjective >= 0:
		cost := rare(entry.Adjective, entry)
		if strings.HasSuffix(w, "ing") || strings.HasSuffix(w, "ed") {
			cost += 2
		}
		add("A", cost, w)
	}
}

// compared reports whether a word is the comparative or superlative of an adjective: "biggest".
func compared(w string) bool {
	for _, ending := range []string{"er", "est"} {
		stem, ok := strings.CutSuffix(w, ending)
		if !ok || len(stem) < 3 {
			continue
		}
		for _, base := range []string{stem, stem + "e", stem[:len(stem)-1], strings.TrimSuffix(stem, "i") + "y"} {
			if entry, _ := wordnet.Lookup(base); entry.Adjective > 0 && !vocabulary.Noun(w) && entry.Noun < entry.Adjective {
				if whole, ok := wordnet.Lookup(w); !ok || whole.Noun < 0 {
					return true
				}
			}
		}
	}
	return false
}

// clock reads "1:05" in seconds.
func clock(w string) (seconds float64, ok bool) {
	if !strings.Contains(w, ":") {
		return 0, false
	}
	for part := range strings.SplitSeq(w, ":") {
		n, err := strconv.ParseFloat(part, 64)
		if err != nil {
			return 0, false
		}
		seconds = seconds*60 + n
	}
	return seconds, true
}
