package query

import (
	"strings"

	"vqa/domain/query/vocabulary"
)

var comparatorPhrases = phrasesOf(comparators)
var trailingComparatorPhrases = phrasesOf(trailingComparators)
var vagueQuantityPhrases = phrasesOf(vagueQuantities)
var relationPhrases = phrasesOf(relations)

var universalWords = set("all each every everyone everybody most")

// vagueAmounts are amounts without a number. The meaning of "many" is a matter of taste.
var vagueAmounts = set("many few lots loads plenty enough")

var definiteWords = set("the this that these those")

var personWords = set("anyone anybody someone somebody he she him they them")

// readNouns reads one or more noun phrases joined by conjunctions. It returns the index behind
// them. helper is true when a bare verb may follow: "does the dog run".
func (p *parser) readNouns(ts words, i int, helper bool) (int, bool) {
	if ts.at(i) == "neither" {
		p.negated = true
		i++
	}
	first := len(p.subjects)
	i, ok := p.readNoun(ts, i, helper)
	if !ok {
		return i, false
	}
	for {
		op, n := conjunctionAt(ts, i)
		if n == 0 {
			return i, true
		}
		j := skipExistence(ts, i+n)
		without := ts.at(i) == "but" && ts.at(j) == "no" || ts.at(j) == "not" && !p.negated
		if ts.at(j) == "not" {
			j++
		}
		if !startsNoun(ts, j) {
			return i, true
		}
		was, named := p.negated, len(p.obstacles)
		end, ok := p.readNoun(ts, j, helper)
		if !ok && op == All && end > j && len(p.obstacles) > named {
			// "a dog and music": the question about the dog remains.
			i = end
			continue
		}
		if !ok {
			return i, false
		}
		last := len(p.subjects) - 1
		switch {
		case was && p.negated && op == All && (ts.at(i) == "but" || ts.at(j) == "a" || ts.at(j) == "an"):
			// "no cat but a dog"
			p.subjects[first].Quantity, p.negated = &Quantity{Op: Equal}, false
		case was && op == All || was && !p.negated:
			// "no cats and no dogs": none of either.
			p.negated, op = true, Any
		case without || p.negated && !was:
			// "a dog but no cat"
			p.subjects[last].Quantity, p.negated = &Quantity{Op: Equal}, was
		}
		p.noteConjunction(op, ts.at(i) == "," && n == 1)
		i = end
	}
}

func conjunctionAt(ts words, i int) (Operator, int) {
	op, n := lookup(conjunctions, conjunctionPhrases, ts, i)
	if n > 0 && ts.at(i) == "," {
		// In ", and" the comma has no meaning.
		if next, m := lookup(conjunctions, conjunctionPhrases, ts, i+1); m > 0 {
			return next, n + m
		}
	}
	return op, n
}

var conjunctionPhrases = phrasesOf(conjunctions)

// skipExistence skips "is there" in "a dog and is there a cat".
func skipExistence(ts words, i int) int {
	if auxiliaries[ts.at(i)] && ts.at(i+1) == "there" {
		return i + 2
	}
	return i
}

// startsNoun reports whether a noun phrase may start here, rather than a second condition on
// the same subject ("and sitting", "and on the left").
func startsNoun(ts words, i int) bool {
	w := ts.at(i)
	if quantity, _ := quantityAt(ts, i); quantity != nil {
		return true
	}
	if w == "" || auxiliaries[w] || isAction(ts, i) || w == "it" || w == "they" {
		return false
	}
	if _, n := placeAt(ts, i); n > 0 {
		return false
	}
	if _, n := lookup(relations, relationPhrases, ts, i); n > 0 {
		return false
	}
	return i+1 < len(ts) || !colorWords[w] && stateWords[w] == "" && !subjectiveWords[w] && !attributeWords[w] || determiners[w]
}

// quantityAt reads "at least three", "two or more", "3"; it is nil when there is none.
func quantityAt(ts words, i int) (*Quantity, int) {
	if v, n := lookup(vagueQuantities, vagueQuantityPhrases, ts, i); n > 0 {
		return &Quantity{Op: AtLeast, Value: v}, n
	}
	op, n := lookup(comparators, comparatorPhrases, ts, i)
	j := i + n
	if n == 0 {
		op = "eq"
	}
	if (ts.at(j) == "a" || ts.at(j) == "the") && number(ts.at(j+1)) > 0 {
		j++
	}
	v, m := numberAt(ts, j)
	if m == 0 && (op == "gte" || op == "lte") && (ts.at(j) == "a" || ts.at(j) == "an") {
		// "at least a dog"
		v, m = 1, 1
	}
	if m == 0 {
		return nil, 0
	}
	j += m
	if n == 0 {
		if limit, m := lookup(trailingComparators, trailingComparatorPhrases, ts, j); m > 0 {
			op = limit
			j += m
		}
	}
	if ts.at(j) == "of" {
		j++
	}
	return &Quantity{Op: Comparison(op), Value: v}, j - i
}

// readNoun reads one noun phrase and adds its subject and the conditions in front of it.
func (p *parser) readNoun(ts words, i int, helper bool) (int, bool) {
	if each := ts.at(i) == "both" && !ts[i:].has("and"); each && !p.counting {
		// "Are both dogs black" asks about each dog, as "all" does.
		return i, false
	}
	quantity, i := p.readLead(ts, i)
	if vagueAmounts[ts.at(i)] {
		p.addObstacle(Subjective, ts.at(i))
		return i, false
	}
	if universalWords[ts.at(i)] && !p.counting {
		// "Are all the cups red" asks about each cup, which a query cannot express.
		return i, false
	}
	if universalWords[ts.at(i)] {
		quantity, i = p.readLead(ts, i+1)
	}
	if personWords[ts.at(i)] || ts.at(i) == "one" && ts.at(i-1) == "no" || ts.at(i) == "nobody" {
		p.addSubject("person", quantity)
		return i + 1, true
	}
	var before []pending
	i, before = p.readAdjectives(ts, i)
	if ts.at(i) != "" && ts[i].name && !vocabulary.Noun(vocabulary.Singular(ts.at(i))) && !clothing[vocabulary.Singular(ts.at(i))] && !vocabulary.Noun(vocabulary.Singular(ts.at(i)+" "+ts.at(i+1))) {
		end := i
		for end < len(ts) && ts[end].name {
			end++
		}
		p.addObstacle(Identity, ts[i:end].text())
		return i, false
	}
	end := nounEnd(ts, i, helper)
	if end == i {
		return i, false
	}
	// A comparator may follow the noun: "3 dogs or more".
	if limit, n := lookup(trailingComparators, trailingComparatorPhrases, ts, end); n > 0 && quantity != nil && quantity.Op == Equal {
		quantity.Op = Comparison(limit)
		return p.addNounSubject(ts[i:end], quantity, before, end+n)
	}
	return p.addNounSubject(ts[i:end], quantity, before, end)
}

// readLead reads determiners and the quantity.
func (p *parser) readLead(ts words, i int) (*Quantity, int) {
	var quantity *Quantity
	p.definite = false
	for {
		w := ts.at(i)
		if p.negated && w == "a" && ts.at(i+1) == "single" {
			// "not a single dog"
			i += 2
			continue
		}
		if low, high, n := numberRangeAt(ts, i); n > 0 && i+n < len(ts) {
			quantity, p.atMost, i = &Quantity{Op: AtLeast, Value: low}, high, i+n
			continue
		}
		if q, n := quantityAt(ts, i); q != nil && i+n < len(ts) {
			quantity, i = q, i+n
			if q.Value == 0 && q.Op == Equal {
				quantity, p.negated = nil, !p.negated
			}
			continue
		}
		switch {
		case w == "no" || w == "none" || w == "not" || w == "zero":
			p.negated = !p.negated
			if ts.at(i+1) == "one" && w == "no" {
				return nil, i + 1
			}
		case identityWords[w]:
			p.addObstacle(Identity, ts[i:min(i+2, len(ts))].text())
		case exhaustiveWords[w]:
			if p.counting || quantity != nil {
				p.addObstacle(ExhaustiveCount, ts[i:min(i+2, len(ts))].text())
			}
		case determiners[w] && !(w == "that" && i > 0 && auxiliaries[ts.at(i+1)]):
			p.definite = p.definite || definiteWords[w]
		default:
			return quantity, i
		}
		i++
	}
}

// pending is a condition that the parser found before its subject.
type pending struct {
	kind  Kind
	value string
}

// readAdjectives reads the known words in front of a noun.
func (p *parser) readAdjectives(ts words, i int) (int, []pending) {
	var out []pending
	for i+1 < len(ts) {
		w, next := ts.at(i), ts.at(i+1)
		if vocabulary.Noun(vocabulary.Singular(w + " " + next)) {
			return i, out
		}
		if values, n := colorChoiceAt(ts, i); n > 0 && i+n < len(ts) && !stopsNoun(ts, i+n) {
			for k, value := range values {
				if k > 0 {
					p.noteAlternative(KindAttribute)
				}
				out = append(out, pending{KindAttribute, value})
			}
			i += n
			continue
		}
		if value, n := colorsAt(ts, i); n > 0 && i+n < len(ts) && !stopsNoun(ts, i+n) {
			out = append(out, pending{KindAttribute, value})
			i += n
			continue
		}
		if joined := next == "and" || next == "," || next == "or"; joined {
			k, adjective := i+2, func(w string) bool { return colorWords[w] || attributeWords[w] }
			if next == "or" && (ts.at(k) == "a" || ts.at(k) == "an") {
				k++
			}
			if !adjective(w) && !subjectiveWords[w] || !adjective(ts.at(k)) || k+1 >= len(ts) || stopsNoun(ts, k+1) {
				return i, out
			}
			if next == "or" {
				p.noteAlternative(KindAttribute)
			}
			if subjectiveWords[w] {
				p.addObstacle(Subjective, w)
			} else {
				out = append(out, pending{KindAttribute, attributeName(w)})
			}
			i = k
			continue
		}
		if stopsNoun(ts, i+1) {
			return i, out
		}
		switch {
		case (w == "left" || w == "right") && vocabulary.Noun(vocabulary.Singular(next)):
			// "the left car"
			out = append(out, pending{KindLocation, w})
		case audioWords[w]:
			p.addObstacle(Audio, w+" "+next)
			if audioWords[next] {
				return i, out
			}
		case subjectiveWords[w]:
			p.addObstacle(Subjective, w)
		case stateWords[w] != "" && w != "off" && w != "on":
			out = append(out, pending{KindState, stateWords[w]})
		case colorWords[w] || attributeWords[w]:
			out = append(out, pending{KindAttribute, attributeName(w)})
		case isAction(ts, i) && (strings.HasSuffix(w, "ing") || w == "seated"):
			out = append(out, pending{KindAction, gerund(w)})
		case w == "very" || w == "really" || w == "quite":
		default:
			return i, out
		}
		i++
	}
	return i, out
}

// nounEnd is the index behind the words of a noun.
func nounEnd(ts words, i int, helper bool) int {
	for n := 3; n > 0; n-- {
		done := strings.HasSuffix(ts.at(i+n-1), "ing") && determiners[ts.at(i+n)] // "a zebra crossing the road"
		if i+n <= len(ts) && n > 1 && !done && vocabulary.Noun(vocabulary.Singular(ts[i:i+n].text())) {
			return i + n
		}
	}
	if containerAt(ts, i) {
		return nounEnd(ts, i+2, helper)
	}
	j := i
	for j < len(ts) && !stopsNoun(ts, j) {
		if _, verb := actionForms[ts.at(j)]; helper && j > i && (verb || textWords[ts.at(j)]) {
			break
		}
		if helper && j > i && !vocabulary.Noun(vocabulary.Singular(ts.at(j))) && vocabulary.Noun(vocabulary.Singular(ts[i:j].text())) {
			// "Does the dog wag": an unknown verb follows.
			break
		}
		if w := ts.at(j); j > i && (degreeWords[w] || strings.HasSuffix(w, "ly") && !nounsInLy[w] && !vocabulary.Noun(w)) {
			// In "a person quickly" and "a dog very" the last word is not part of the noun.
			break
		}
		if w := ts.at(j); j > i && (w == "left" || w == "right" || w == "stopped") {
			break
		}
		if j > i && (colorWords[ts.at(j)] || subjectiveWords[ts.at(j)] || statePhrases.match(ts, j) > 0 || attributeWords[ts.at(j)]) {
			break
		}
		j++
	}
	return j
}

var degreeWords = set("very so quite almost too first then up down out away half furthest farthest closest nearest")

var nounsInLy = set("family fly dragonfly lily belly jelly bully assembly supply")

// unsupportedModifiers say how often, in which order or with which exception. No query holds
// them.
var unsupportedModifiers = set(`always often sometimes usually constantly continuously repeatedly again yet twice once before after until while during
	except excluding instead rather`)

// stopsNoun reports whether the word at i cannot be part of a noun.
func stopsNoun(ts words, i int) bool {
	w := ts.at(i)
	if unsupportedModifiers[w] || auxiliaries[w] || relativePronouns[w] || determiners[w] || w == "n't" || w == "not" || w == "never" || w == "absent" ||
		w == "with" || w == "without" || w == "than" || w == "there" || w == "you" || w == "i" || w == "we" || w == "to" ||
		w == "as" || w == "for" || w == "exceed" || w == "exceeds" || number(w) >= 0 || identityWords[w] || w == "about" || w == "no" || w == "throughout" || w == "neither" ||
		w == "lack" || w == "lacks" {
		return true
	}
	if _, n := lookup(conjunctions, conjunctionPhrases, ts, i); n > 0 {
		return true
	}
	if _, n := lookup(trailingComparators, trailingComparatorPhrases, ts, i); n > 0 {
		return true
	}
	if _, n := lookup(comparators, comparatorPhrases, ts, i); n > 0 {
		return true
	}
	if _, n := placeAt(ts, i); n > 0 {
		return true
	}
	if _, n := lookup(relations, relationPhrases, ts, i); n > 0 {
		return true
	}
	return strings.HasSuffix(w, "ing") && isAction(ts, i) || w == "seated" || w == "asleep"
}
