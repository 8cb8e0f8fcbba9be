package query

import (
	"slices"
	"strings"
)

// languages are heard, not seen.
var languages = set("english french spanish german italian chinese japanese loudly quietly softly hindi arabic russian")

// possessive verbs tie a thing to its subject: "has a beard".
var possessive = set("has have had having")

// adverbs say nothing that is not asked anyway. How something is done is asked: "slowly" is
// none of them.
var adverbs = set(`together to be being been already just now all both directly right very so
	around`)

// tail reads what follows a noun phrase: conditions on subject s, further subjects.
// It returns false when a word is left over.
func (p *parser) tail(ts words, i, s int) bool {
	negate := false
	for i < len(ts) {
		w := ts.at(i)
		switch {
		case possessive[w] && i+1 < len(ts) && !auxiliaries[ts.at(i+1)] && startsNoun(ts, i+1):
			next, ok := p.with(ts, i+1, s, negate)
			if !ok {
				return false
			}
			i, s, negate = next, len(p.subjects)-1, false
			continue
		case w == "neither" && i+1 < len(ts):
			negate = true
			i++
			continue
		case w == "not" || w == "n't" || w == "never" || w == "no" && ts.at(i+1) == "longer":
			negate = !negate
			i++
			if i == len(ts) {
				p.negated = !p.negated
				return true
			}
			continue
		case w == "absent":
			p.negated = p.negated == negate
			negate = false
			i++
			continue
		case relatives[w] || auxiliaries[w]:
			i++
			continue
		}
		next, ok := p.step(ts, i, s, negate)
		if !ok {
			return false
		}
		negate = w == "nor"
		if len(p.subjects)-1 > s {
			s = len(p.subjects) - 1
		}
		i = next
	}
	return !negate
}

// step reads one condition or one more subject.
func (p *parser) step(ts words, i, s int, negate bool) (int, bool) {
	w := ts.at(i)
	_, where := lookup(relations, relationPhrases, ts, i)
	place, n := placeAt(ts, i)
	if last := len(p.conditions) - 1; where+n > 0 && last >= 0 && p.conditions[last].Kind == KindAction && p.conditions[last].Negated {
		// "not sitting on the chair" denies both together.
		return i, false
	}
	if n > 0 {
		p.condition(s, KindLocation, place, negate)
		return i + n, true
	}
	if state, n := lookup(states, statePhrases, ts, i); n > 0 && (n > 1 || relations[w] == "" || i+1 == len(ts)) &&
		!(shades[w] != "" && colours[ts.at(i+1)]) {
		// A preposition at the end is a state: "is the light on".
		p.condition(s, KindState, state, negate)
		return i + n, true
	}
	if relation, n := lookup(relations, relationPhrases, ts, i); n > 0 {
		return p.relation(ts, i+n, s, relation, negate)
	}
	if op, n := conjunctionAt(ts, i); n > 0 {
		return p.joined(ts, i+n, op)
	}
	if values, n := eitherAt(ts, i); n > 0 {
		p.either(s, values, negate)
		return i + n, true
	}
	if value, n := coloursAt(ts, i); n > 0 {
		p.condition(s, KindAttribute, value, negate)
		return i + n, true
	}
	switch {
	case w == "with" || w == "without" || w == "lack" || w == "lacks" || w == "lacking":
		return p.with(ts, i+1, s, negate != (w != "with"))
	case reading[w] && !human(p.subjects[s].Term):
		p.obstacle(Text, ts[i:].text())
		return len(ts), true
	case audio[w] || audio[gerund(w)] || strings.HasPrefix(w, "say"):
		p.obstacle(Audio, ts[i:].text())
		return len(ts), true
	case owners[w]:
		p.obstacle(Identity, ts[i:].text())
		return len(ts), true
	case subjective[w]:
		p.obstacle(Subjective, w)
		return i + 1, true
	case attributes[w] && !colours[w]:
		p.condition(s, KindAttribute, quality(w), negate)
		return i + 1, true
	case isAction(ts, i):
		return p.action(ts, i, s, negate)
	case w == "right" && i+1 == len(ts):
		// It says where, but not of what.
		return i, false
	case adverbs[w]:
		return i + 1, true
	}
	return i, false
}

// human reports whether a term is one for people, who can speak and read.
func human(term string) bool {
	classes, _ := coco.Lookup(term)
	return slices.Equal(classes, []string{"person"})
}

// speaker reports whether the words name somebody who can speak: a sign that "says" something is
// read, a person is heard.
func speaker(ts words) bool {
	return slices.ContainsFunc(ts, func(t token) bool { return persons[t.w] || human(singular(t.w)) })
}

// joined reads what follows a conjunction: another subject, or another condition on
// the same one ("and is it running").
func (p *parser) joined(ts words, i int, op Operator) (int, bool) {
	comma := ts.at(i-1) == ","
	i = skipExistence(ts, i)
	for auxiliaries[ts.at(i)] {
		i++
	}
	if isPointer(ts.at(i)) && i+1 < len(ts) || ts.at(i) == "he" || ts.at(i) == "she" {
		i++
	}
	if i >= len(ts) {
		return i, false
	}
	last := len(p.conditions) - 1
	if last >= 0 && p.conditions[last].Kind == KindLocation && !p.conditions[last].Negated {
		if place, n := sideAt(ts, i); n > 0 && i+n == len(ts) {
			// "on the left or the right"
			p.condition(len(p.subjects)-1, KindLocation, place, false)
			if op == Any {
				p.choose(KindLocation)
			}
			return i + n, true
		}
	}
	if op == Any && ts.at(i-2) != "," && p.otherwise(ts, i) {
		return len(ts), true
	}
	if startsNoun(ts, i) {
		p.join(op, comma)
		return p.nouns(ts, i, false)
	}
	if op != Any {
		return i, true
	}
	if last >= 0 && p.conditions[last].Negated && ts.at(i-1) == "nor" {
		return i, true
	}
	if last < 0 || p.conditions[last].Negated {
		return i, false
	}
	p.choose(p.conditions[last].Kind)
	return i, true
}

// otherwise reads the rest of a question as one more object of the condition before it:
// "next to a car or a truck". An article that differs starts another subject: "on the
// couch or a dog".
func (p *parser) otherwise(ts words, i int) bool {
	last, s := len(p.conditions)-1, len(p.subjects)-1
	if last < 0 || p.stem == "" || !strings.HasPrefix(p.conditions[last].Value, p.stem+" ") || p.conditions[last].Subject != p.subjects[s].ID ||
		determiners[ts.at(i)] && determiners[p.article] && definite[ts.at(i)] != definite[p.article] {
		return false
	}
	what, c := describe(ts[i:]), p.conditions[last]
	if quantity, _ := quantityAt(ts, i); quantity != nil || objectEnd(ts, i) < len(ts) {
		return false
	}
	if classes, ok := coco.Lookup(what); p.stem == "riding" && !(ok && mounts[classes[0]]) || !p.object(ts[i:]) {
		return false
	}
	p.condition(s, c.Kind, p.stem+" "+what, c.Negated)
	if !c.Negated {
		p.choose(c.Kind)
	}
	return true
}

// with reads "with a dog" (a second subject) and "with a red shirt" (an attribute).
func (p *parser) with(ts words, i, s int, negate bool) (int, bool) {
	end := objectEnd(ts, i)
	if _, _, ranged := numbersAt(ts, i); end == i || ranged > 0 {
		return i, false
	}
	if slices.ContainsFunc(ts[i:end], func(t token) bool { return reading[t.w] || t.w == "text" }) {
		p.obstacle(Text, ts[i:].text())
		return len(ts), true
	}
	phrase := nounPhrase(ts[i:end])
	if pose, n := poses[phrase.text()]; n {
		p.condition(s, KindAction, pose, negate)
		return end, true
	}
	last := ts.at(end - 1)
	if garment(last) != "" {
		return p.wear(ts, i, s, negate)
	}
	if head := singular(last); features[head] || !knownNouns[head] {
		p.condition(s, KindAttribute, clip("with "+describe(ts[i:end])), negate)
		return end, true
	}
	first := len(p.subjects)
	i, ok := p.nouns(ts, i, false)
	if !negate || !ok {
		p.allOf = true
		return i, ok
	}
	if len(p.subjects) != first+1 || p.subjects[first].Quantity != nil || p.negated {
		return i, false
	}
	p.subjects[first].Quantity = &Quantity{Op: Equal}
	p.allOf = true
	return i, true
}

// relation reads "next to a car".
func (p *parser) relation(ts words, i, s int, relation string, negate bool) (int, bool) {
	end := objectEnd(ts, i)
	if end == i {
		return i, p.particle(ts, i)
	}
	if relation == "in" && p.besideSomebody(ts, i-1) {
		// "next to a man in blue" says whose blue it is, which no query holds.
		return i, false
	}
	if _, n := coloursAt(ts, i); relation == "in" && (garment(ts.at(end-1)) != "" || n > 0 && i+n == end) {
		return p.wear(ts, i, s, negate)
	}
	if values, item, end := eitherWorn(ts, i); relation == "in" && len(values) > 0 && (item == "" || garment(ts.at(end-1)) != "") {
		return p.wear(ts, i, s, negate)
	}
	if relation == "between" && ts.at(end) == "and" {
		end = objectEnd(ts, end+1)
	}
	object := nounPhrase(ts[i:end])
	if len(object) == 0 || pronoun[object.text()] || slices.ContainsFunc(object, isTime) {
		return i, false
	}
	what := describe(ts[i:end])
	if relation == "in" && seats[what] {
		relation = "on"
	}
	if p.said(s, relation, what) {
		return end, true
	}
	if last := len(p.conditions) - 1; relation == "on" && last >= 0 && p.conditions[last].Value == "riding" && p.object(ts[i:end]) {
		p.conditions[last].Value += " " + what
		p.stem, p.article = "riding", ts.at(i)
		return end, true
	}
	p.object(ts[i:end])
	p.condition(s, KindLocation, clip(relation+" "+what), negate)
	p.stem, p.article = relation, ts.at(i)
	return end, true
}

// besideSomebody reports whether the words before i place the subject by a person, of whom
// what follows may be said as well.
func (p *parser) besideSomebody(ts words, i int) bool {
	last := len(p.conditions) - 1
	for auxiliaries[ts.at(i-1)] {
		i--
	}
	if last < 0 || p.conditions[last].Kind != KindLocation || p.stem == "" || ts.at(i-1) == "and" {
		return false
	}
	object, placed := strings.CutPrefix(p.conditions[last].Value, p.stem+" ")
	return placed && human(object)
}

// isTime reports whether a word is part of a time, which a window would have taken had
// it been one.
func isTime(t token) bool { return clock(t.w) >= 0 || unitMS[t.w] > 0 && len(t.w) > 1 }

// particle takes a preposition without an object as part of the verb before it:
// "pass by".
func (p *parser) particle(ts words, i int) bool {
	last := len(p.conditions) - 1
	if last < 0 || p.conditions[last].Kind != KindAction || i < len(ts) {
		return false
	}
	if w := ts.at(i - 1); !strides[p.conditions[last].Value] || w != "by" && !directions[w] {
		p.conditions[last].Value += " " + ts.at(i-1)
	}
	return true
}

// owned notes that something is said to be somebody's: "my bicycle".
func (p *parser) owned(ts words) {
	if i := slices.IndexFunc(ts, func(t token) bool { return owners[t.w] }); i >= 0 {
		p.obstacle(Identity, ts[i:].text())
	}
}

// object notes a thing named inside a condition, so that it is searched for too. It
// returns false for a thing that no list knows.
func (p *parser) object(ts words) bool {
	p.owned(ts)
	for from := range ts {
		term := singular(ts[from:].text())
		filled := filledAt(ts, from)
		if filled {
			term = filledTerm(ts[from:])
		}
		if filled || knownNouns[term] {
			p.objects = append(p.objects, term)
			return true
		}
	}
	return false
}

// objectEnd is the index behind the words that belong to a verb or a preposition.
func objectEnd(ts words, i int) int {
	j := i
	for j < len(ts) {
		w := ts.at(j)
		_, place := placeAt(ts, j)
		_, relation := lookup(relations, relationPhrases, ts, j)
		_, joint := conjunctionAt(ts, j)
		if place > 0 || relation > 0 || relatives[w] && !determiners[w] || w == "with" || w == "without" || auxiliaries[w] || w == "not" ||
			w == "than" || w == "nor" || often[w] {
			break
		}
		// "a red and white shirt" goes on, "a ball and a cat" does not.
		if joint > 0 && !(j > i && colours[ts.at(j-1)] && colours[ts.at(j+1)]) {
			break
		}
		if j > i && (strings.HasSuffix(w, "ing") && isAction(ts, j) || verbAfter(ts, j)) {
			break
		}
		j++
	}
	return j
}

// verbAfter reports whether the word at i is what somebody does who was told by the thing
// before it: "the man in the red shirt jumps".
func verbAfter(ts words, i int) bool {
	w, thing := ts.at(i), ts.at(i-1)
	if _, verb := actionForms[w]; !verb || garment(w) != "" || knownNouns[singular(thing+" "+w)] {
		return false
	}
	return garment(thing) != "" || knownNouns[thing] && (strings.HasSuffix(w, "s") || human(thing))
}

// describe is the normal form of a noun phrase with what is in front of its noun:
// "red bus".
func describe(ts words) string {
	var out []string
	phrase := nounPhrase(ts)
	for i := 0; i < len(phrase); {
		if value, n := coloursAt(phrase, i); n > 0 && i+n < len(phrase) {
			out = append(out, value)
			i += n
			continue
		}
		w := phrase.at(i)
		if i+1 < len(phrase) {
			w = quality(w)
		}
		out = append(out, w)
		i++
	}
	return strings.Join(out, " ")
}
