package query

import (
	"slices"
	"strings"
)

var adverbs = set(`quickly slowly fast together alone to be being been still already just now all both directly right very so
	toward_camera around about yet again down up away out`)

// tail reads what follows a noun phrase: conditions on subject s, further subjects.
// It returns false when a word is left over.
func (p *parser) tail(ts words, i, s int) bool {
	negate := false
	for i < len(ts) {
		w := ts.at(i)
		switch {
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
		negate = false
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
	if place, n := lookup(places, placePhrases, ts, i); n > 0 && (relations[ts[i:min(i+n+1, len(ts))].text()] == "") {
		p.condition(s, KindLocation, place, negate)
		return i + n, true
	}
	if states[w] && i+1 == len(ts) {
		// "is the light on"
		p.condition(s, KindState, w, negate)
		return i + 1, true
	}
	if relation, n := lookup(relations, relationPhrases, ts, i); n > 0 {
		return p.relation(ts, i+n, s, relation, negate)
	}
	if op, n := conjunctionAt(ts, i); n > 0 {
		return p.joined(ts, i+n, op)
	}
	switch {
	case w == "with" || w == "without":
		return p.with(ts, i+1, s, negate != (w == "without"))
	case reading[w] && !p.human(s):
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
	case colourModifiers[w] && colours[ts.at(i+1)]:
		p.condition(s, KindAttribute, w+" "+ts.at(i+1), negate)
		return i + 2, true
	case states[w] || states[ts[i:min(i+2, len(ts))].text()]:
		n := 1
		if i+2 <= len(ts) && states[ts[i:i+2].text()] {
			n = 2
		}
		p.condition(s, KindState, ts[i:i+n].text(), negate)
		return i + n, true
	case colours[w] || attributes[w]:
		p.condition(s, KindAttribute, w, negate)
		return i + 1, true
	case isAction(ts, i):
		return p.action(ts, i, s, negate)
	case adverbs[w] || strings.HasSuffix(w, "ly"):
		return i + 1, true
	}
	return i, false
}

// human reports whether subject s can speak and read.
func (p *parser) human(s int) bool {
	classes, _ := coco.Lookup(p.subjects[s].Term)
	return slices.Equal(classes, []string{"person"})
}

// joined reads what follows a conjunction: another subject, or another condition on
// the same one ("and is it running").
func (p *parser) joined(ts words, i int, op Operator) (int, bool) {
	if op == Any {
		p.operator = Any
	}
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
	if startsNoun(ts, i) {
		return p.nouns(ts, i, false)
	}
	return i, true
}

// with reads "with a dog" (a second subject) and "with a red shirt" (an attribute).
func (p *parser) with(ts words, i, s int, negate bool) (int, bool) {
	end := objectEnd(ts, i)
	if end == i {
		return i, false
	}
	head := singular(ts.at(end - 1))
	if negate || clothing[head] || clothing[ts.at(end-1)] || !knownNouns[head] {
		p.condition(s, KindAttribute, clip("with "+bare(ts[i:end])), negate)
		return end, true
	}
	return p.nouns(ts, i, false)
}

// relation reads "next to a car".
func (p *parser) relation(ts words, i, s int, relation string, negate bool) (int, bool) {
	end := objectEnd(ts, i)
	if end == i {
		return i, p.particle(ts, i)
	}
	if relation == "in" && clothing[singular(ts.at(end-1))] {
		p.condition(s, KindAttribute, clip("wearing "+bare(ts[i:end])), negate)
		return end, true
	}
	if relation == "between" && ts.at(end) == "and" {
		end = objectEnd(ts, end+1)
	}
	p.object(ts[i:end])
	p.condition(s, KindLocation, clip(relation+" "+bare(ts[i:end])), negate)
	return end, true
}

// particle takes a preposition without an object as part of the verb before it:
// "pass by".
func (p *parser) particle(ts words, i int) bool {
	last := len(p.conditions) - 1
	if last < 0 || p.conditions[last].Kind != KindAction || i < len(ts) {
		return false
	}
	p.conditions[last].Value += " " + ts.at(i-1)
	return true
}

// action reads a verb and its objects: "raising a hand".
func (p *parser) action(ts words, i, s int, negate bool) (int, bool) {
	verb := gerund(ts.at(i))
	if verb == "looking" && subjective[ts.at(i+1)] {
		p.obstacle(Subjective, ts[i:].text())
		return len(ts), true
	}
	end := objectEnd(ts, i+1)
	value := verb
	if end > i+1 {
		value += " " + bare(ts[i+1:end])
		p.object(ts[i+1 : end])
	}
	kind := KindAction
	if verb == "wearing" {
		kind = KindAttribute
	}
	p.condition(s, kind, clip(value), negate)
	return end, true
}

// object notes a thing named inside a condition, so that it is searched for too.
func (p *parser) object(ts words) {
	for from := range ts {
		if term := singular(ts[from:].text()); knownNouns[term] {
			p.objects = append(p.objects, term)
			return
		}
	}
}

// objectEnd is the index behind the words that belong to a verb or a preposition.
func objectEnd(ts words, i int) int {
	j := i
	for j < len(ts) {
		w := ts.at(j)
		_, place := lookup(places, placePhrases, ts, j)
		_, relation := lookup(relations, relationPhrases, ts, j)
		_, joint := conjunctionAt(ts, j)
		if place > 0 || relation > 0 || relatives[w] && !determiners[w] || w == "with" || w == "without" || auxiliaries[w] || w == "not" {
			break
		}
		// "a red and white shirt" goes on, "a ball and a cat" does not.
		if joint > 0 && !(j > i && colours[ts.at(j-1)] && colours[ts.at(j+1)]) {
			break
		}
		if j > i && strings.HasSuffix(w, "ing") && isAction(ts, j) {
			break
		}
		j++
	}
	return j
}

// bare is a phrase without its determiners.
func bare(ts words) string {
	var out words
	for _, t := range ts {
		if !determiners[t.w] && !owners[t.w] && t.w != "of" {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return ts.text()
	}
	return out.text()
}

func clip(s string) string {
	if r := []rune(s); len(r) > maxTextLen {
		return string(r[:maxTextLen])
	}
	return s
}

// isAction reports whether the word at i is a verb that somebody does.
func isAction(ts words, i int) bool {
	w := ts.at(i)
	if _, ok := actionForms[w]; ok {
		return true
	}
	return len(w) > 4 && strings.HasSuffix(w, "ing") && !ingNouns[w] && !knownNouns[w] &&
		!knownNouns[singular(w+" "+ts.at(i+1))]
}

// gerund is the -ing form of a verb that the lists know; others stay as they are.
func gerund(w string) string {
	if g, ok := actionForms[w]; ok {
		return g
	}
	return w
}
