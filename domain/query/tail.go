package query

import (
	"slices"
	"strings"

	"vqa/domain/query/vocabulary"
)

// languages are ways to speak, which are heard and not seen.
var languages = set("english french spanish german italian chinese japanese loudly quietly softly hindi arabic russian")

// possessiveVerbs say that a subject has a thing: "has a beard".
var possessiveVerbs = set("has have had having")

// tailFillers add nothing to the question. A word for how something is done adds a condition,
// so "slowly" is not listed.
var tailFillers = set(`together to be being been already just now all both directly right very so
	around`)

// readTail reads the words behind a noun phrase: conditions on subject s and further subjects.
// It returns false when a word is left over.
func (p *parser) readTail(ts words, i, s int) bool {
	negate := false
	for i < len(ts) {
		w := ts.at(i)
		switch {
		case possessiveVerbs[w] && i+1 < len(ts) && !auxiliaries[ts.at(i+1)] && startsNoun(ts, i+1):
			next, ok := p.readWith(ts, i+1, s, negate)
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
		case relativePronouns[w] || auxiliaries[w]:
			i++
			continue
		}
		next, ok := p.readTailStep(ts, i, s, negate)
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

// readTailStep reads one condition or one more subject.
func (p *parser) readTailStep(ts words, i, s int, negate bool) (int, bool) {
	w := ts.at(i)
	_, where := lookup(relations, relationPhrases, ts, i)
	place, n := placeAt(ts, i)
	if last := len(p.conditions) - 1; where+n > 0 && last >= 0 && p.conditions[last].Kind == KindAction && p.conditions[last].Negated {
		// "not sitting on the chair" denies the two together, which no query holds.
		return i, false
	}
	if n > 0 {
		p.addCondition(s, KindLocation, place, negate)
		return i + n, true
	}
	if state, n := lookup(stateWords, statePhrases, ts, i); n > 0 && (n > 1 || relations[w] == "" || i+1 == len(ts)) &&
		!(shades[w] != "" && colorWords[ts.at(i+1)]) {
		// A preposition at the end is a state: "is the light on".
		p.addCondition(s, KindState, state, negate)
		return i + n, true
	}
	if relation, n := lookup(relations, relationPhrases, ts, i); n > 0 {
		return p.readRelation(ts, i+n, s, relation, negate)
	}
	if op, n := conjunctionAt(ts, i); n > 0 {
		return p.readJoined(ts, i+n, op)
	}
	if values, n := colorChoiceAt(ts, i); n > 0 {
		p.addChoice(s, values, negate)
		return i + n, true
	}
	if value, n := colorsAt(ts, i); n > 0 {
		p.addCondition(s, KindAttribute, value, negate)
		return i + n, true
	}
	switch {
	case w == "with" || w == "without" || w == "lack" || w == "lacks" || w == "lacking":
		return p.readWith(ts, i+1, s, negate != (w != "with"))
	case textWords[w] && !isPersonTerm(p.subjects[s].Term):
		p.addObstacle(Text, ts[i:].text())
		return len(ts), true
	case audioWords[w] || audioWords[gerund(w)] || strings.HasPrefix(w, "say"):
		p.addObstacle(Audio, ts[i:].text())
		return len(ts), true
	case identityWords[w]:
		p.addObstacle(Identity, ts[i:].text())
		return len(ts), true
	case subjectiveWords[w]:
		p.addObstacle(Subjective, w)
		return i + 1, true
	case attributeWords[w] && !colorWords[w]:
		p.addCondition(s, KindAttribute, attributeName(w), negate)
		return i + 1, true
	case isAction(ts, i):
		return p.readAction(ts, i, s, negate)
	case w == "right" && i+1 == len(ts):
		// The word names a side, but no object that it belongs to.
		return i, false
	case tailFillers[w]:
		return i + 1, true
	}
	return i, false
}

// isPersonTerm reports whether a term is a word for people, who can speak and read.
func isPersonTerm(term string) bool {
	classes, _ := vocabulary.COCO().Lookup(term)
	return slices.Equal(classes, []string{"person"})
}

// namesSpeaker reports whether the words name a person. A person who "says" something is heard;
// a sign that "says" something is read.
func namesSpeaker(ts words) bool {
	return slices.ContainsFunc(ts, func(t token) bool { return personWords[t.w] || isPersonTerm(vocabulary.Singular(t.w)) })
}

// readJoined reads the words behind a conjunction: another subject, or another condition on the
// same one ("and is it running").
func (p *parser) readJoined(ts words, i int, op Operator) (int, bool) {
	comma := ts.at(i-1) == ","
	i = skipExistence(ts, i)
	for auxiliaries[ts.at(i)] {
		i++
	}
	if isDemonstrative(ts.at(i)) && i+1 < len(ts) || ts.at(i) == "he" || ts.at(i) == "she" {
		i++
	}
	if i >= len(ts) {
		return i, false
	}
	last := len(p.conditions) - 1
	if last >= 0 && p.conditions[last].Kind == KindLocation && !p.conditions[last].Negated {
		if place, n := sideAt(ts, i); n > 0 && i+n == len(ts) {
			// "on the left or the right"
			p.addCondition(len(p.subjects)-1, KindLocation, place, false)
			if op == Any {
				p.noteAlternative(KindLocation)
			}
			return i + n, true
		}
	}
	if op == Any && ts.at(i-2) != "," && p.readOtherObject(ts, i) {
		return len(ts), true
	}
	if startsNoun(ts, i) {
		p.noteConjunction(op, comma)
		return p.readNouns(ts, i, false)
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
	p.noteAlternative(p.conditions[last].Kind)
	return i, true
}

// readOtherObject reads the rest of a question as one more object of the last condition: "next
// to a car or a truck". An article of the other kind starts another subject instead: "on the
// couch or a dog".
func (p *parser) readOtherObject(ts words, i int) bool {
	last, s := len(p.conditions)-1, len(p.subjects)-1
	if last < 0 || p.stem == "" || !strings.HasPrefix(p.conditions[last].Value, p.stem+" ") || p.conditions[last].Subject != p.subjects[s].ID ||
		determiners[ts.at(i)] && determiners[p.article] && definiteWords[ts.at(i)] != definiteWords[p.article] {
		return false
	}
	what, c := phraseText(ts[i:]), p.conditions[last]
	if quantity, _ := quantityAt(ts, i); quantity != nil || objectEnd(ts, i) < len(ts) {
		return false
	}
	if classes, ok := vocabulary.COCO().Lookup(what); p.stem == "riding" && !(ok && mounts[classes[0]]) || !p.addObject(ts[i:]) {
		return false
	}
	p.addCondition(s, c.Kind, p.stem+" "+what, c.Negated)
	if !c.Negated {
		p.noteAlternative(c.Kind)
	}
	return true
}

// readWith reads "with a dog" (a second subject) and "with a red shirt" (an attribute).
func (p *parser) readWith(ts words, i, s int, negate bool) (int, bool) {
	end := objectEnd(ts, i)
	if _, _, ranged := numberRangeAt(ts, i); end == i || ranged > 0 {
		return i, false
	}
	if slices.ContainsFunc(ts[i:end], func(t token) bool { return textWords[t.w] || t.w == "text" }) {
		p.addObstacle(Text, ts[i:].text())
		return len(ts), true
	}
	phrase := nounPhrase(ts[i:end])
	if pose, n := posePhrases[phrase.text()]; n {
		p.addCondition(s, KindAction, pose, negate)
		return end, true
	}
	last := ts.at(end - 1)
	if garmentName(last) != "" {
		return p.readClothing(ts, i, s, negate)
	}
	if head := vocabulary.Singular(last); bodyFeatures[head] || !vocabulary.Noun(head) {
		p.addCondition(s, KindAttribute, truncate("with "+phraseText(ts[i:end])), negate)
		return end, true
	}
	first := len(p.subjects)
	i, ok := p.readNouns(ts, i, false)
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

// readRelation reads "next to a car".
func (p *parser) readRelation(ts words, i, s int, relation string, negate bool) (int, bool) {
	end := objectEnd(ts, i)
	if end == i {
		return i, p.readParticle(ts, i)
	}
	if relation == "in" && p.placedByPerson(ts, i-1) {
		// "next to a man in blue" does not say who wears blue, and no query holds that.
		return i, false
	}
	if _, n := colorsAt(ts, i); relation == "in" && (garmentName(ts.at(end-1)) != "" || n > 0 && i+n == end) {
		return p.readClothing(ts, i, s, negate)
	}
	if values, item, end := clothingChoiceAt(ts, i); relation == "in" && len(values) > 0 && (item == "" || garmentName(ts.at(end-1)) != "") {
		return p.readClothing(ts, i, s, negate)
	}
	if relation == "between" && ts.at(end) == "and" {
		end = objectEnd(ts, end+1)
	}
	object := nounPhrase(ts[i:end])
	if len(object) == 0 || nonSubjects[object.text()] || slices.ContainsFunc(object, isTime) {
		return i, false
	}
	what := phraseText(ts[i:end])
	if relation == "in" && seats[what] {
		relation = "on"
	}
	if p.alreadySaid(s, relation, what) {
		return end, true
	}
	if last := len(p.conditions) - 1; relation == "on" && last >= 0 && p.conditions[last].Value == "riding" && p.addObject(ts[i:end]) {
		p.conditions[last].Value += " " + what
		p.stem, p.article = "riding", ts.at(i)
		return end, true
	}
	p.addObject(ts[i:end])
	p.addCondition(s, KindLocation, truncate(relation+" "+what), negate)
	p.stem, p.article = relation, ts.at(i)
	return end, true
}

// placedByPerson reports whether the words before i place the subject next to a person. The
// words behind i may then describe either of the two.
func (p *parser) placedByPerson(ts words, i int) bool {
	last := len(p.conditions) - 1
	for auxiliaries[ts.at(i-1)] {
		i--
	}
	if last < 0 || p.conditions[last].Kind != KindLocation || p.stem == "" || ts.at(i-1) == "and" {
		return false
	}
	object, placed := strings.CutPrefix(p.conditions[last].Value, p.stem+" ")
	return placed && isPersonTerm(object)
}

// isTime reports whether a word is part of a time that no window has taken.
func isTime(t token) bool { return clock(t.w) >= 0 || unitMS[t.w] > 0 && len(t.w) > 1 }

// readParticle takes a preposition without an object as part of the verb before it: "pass by".
func (p *parser) readParticle(ts words, i int) bool {
	last := len(p.conditions) - 1
	if last < 0 || p.conditions[last].Kind != KindAction || i < len(ts) {
		return false
	}
	if w := ts.at(i - 1); !travelVerbs[p.conditions[last].Value] || w != "by" && !directionWords[w] {
		p.conditions[last].Value += " " + ts.at(i-1)
	}
	return true
}

// noteOwner notes words that say who owns the thing: "my bicycle".
func (p *parser) noteOwner(ts words) {
	if i := slices.IndexFunc(ts, func(t token) bool { return identityWords[t.w] }); i >= 0 {
		p.addObstacle(Identity, ts[i:].text())
	}
}

// addObject notes a thing inside a condition, so that the model searches for it too. It returns
// false for an unknown thing.
func (p *parser) addObject(ts words) bool {
	p.noteOwner(ts)
	for from := range ts {
		term := vocabulary.Singular(ts[from:].text())
		filled := containerAt(ts, from)
		if filled {
			term = containerTerm(ts[from:])
		}
		if filled || vocabulary.Noun(term) {
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
		_, joined := conjunctionAt(ts, j)
		if place > 0 || relation > 0 || relativePronouns[w] && !determiners[w] || w == "with" || w == "without" || auxiliaries[w] || w == "not" ||
			w == "than" || w == "nor" || unsupportedModifiers[w] {
			break
		}
		// "a red and white shirt" is one object, "a ball and a cat" is not.
		if joined > 0 && !(j > i && colorWords[ts.at(j-1)] && colorWords[ts.at(j+1)]) {
			break
		}
		if j > i && (strings.HasSuffix(w, "ing") && isAction(ts, j) || verbAfter(ts, j)) {
			break
		}
		j++
	}
	return j
}

// verbAfter reports whether the word at i is the verb of the sentence, so that the word
// before it only describes the subject. An example is "the man in the red shirt jumps".
func verbAfter(ts words, i int) bool {
	w, thing := ts.at(i), ts.at(i-1)
	if _, verb := actionForms[w]; !verb || garmentName(w) != "" || vocabulary.Noun(vocabulary.Singular(thing+" "+w)) {
		return false
	}
	return garmentName(thing) != "" || vocabulary.Noun(thing) && (strings.HasSuffix(w, "s") || isPersonTerm(thing))
}

// phraseText is the normal form of a noun phrase with the words in front of its noun: "red
// bus".
func phraseText(ts words) string {
	var out []string
	phrase := nounPhrase(ts)
	for i := 0; i < len(phrase); {
		if value, n := colorsAt(phrase, i); n > 0 && i+n < len(phrase) {
			out = append(out, value)
			i += n
			continue
		}
		w := phrase.at(i)
		if i+1 < len(phrase) {
			w = attributeName(w)
		}
		out = append(out, w)
		i++
	}
	return strings.Join(out, " ")
}
