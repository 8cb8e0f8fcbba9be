package query

import (
	"slices"
	"strings"

	"vqa/domain/query/vocabulary"
)

var openQuestionWords = set(`why how what which who whom whose where describe explain summarize summarise list transcribe
	translate compare write name identify tell caption`)

var hearingWords = set("hear listen audible")

// readClause reads a whole cleaned question. It returns false when words are left over.
func (p *parser) readClause(ts words) bool {
	if n := timeLead(ts); n > 0 {
		p.timed = true
		ts = ts[n:]
	} else if n := countLeads.match(ts, 0); n > 0 {
		return p.readCountClause(ts[n:])
	} else if last := len(ts) - 1; last > 0 && ts.at(last) == "count" && !auxiliaries[ts.at(0)] {
		// "people count"
		return p.readCountClause(ts[:last])
	}
	if n := momentLead(ts); n > 0 {
		return p.readClause(ts[n:]) && p.momentSuffices()
	}
	if len(ts) == 0 {
		return false
	}
	ts = p.cutAudioPart(ts)
	if openQuestionWords[ts.at(0)] || slices.ContainsFunc(ts, func(t token) bool { return hearingWords[t.w] }) {
		p.noteObstacle(ts)
		return false
	}
	if free := negativeLead(ts); free > 0 {
		p.negated = true
		return p.readExistence(ts[free:])
	}
	if lead := existenceLead(ts); lead > 0 {
		return p.readExistence(ts[lead:])
	}
	if ts.at(0) == "not" || ts.at(0) == "never" {
		p.negated = true
		return p.readClause(ts[1:])
	}
	if auxiliaries[ts.at(0)] {
		return p.readAuxiliary(ts)
	}
	return p.readStatement(ts)
}

// momentSuffices reports whether one matching moment is enough to answer for the whole video.
// It is not when the question asks for absence, or for an exact or a largest number.
func (p *parser) momentSuffices() bool {
	return !p.negated && !slices.ContainsFunc(p.subjects, func(s Subject) bool {
		return s.Quantity != nil && s.Quantity.Op != AtLeast && s.Quantity.Op != MoreThan
	})
}

// cutAudioPart cuts "and can you hear music" from the end of a question.
func (p *parser) cutAudioPart(ts words) words {
	at := slices.IndexFunc(ts, func(t token) bool { return hearingWords[t.w] })
	and := at - 1
	for auxiliaries[ts.at(and)] || ts.at(and) == "you" || ts.at(and) == "i" || ts.at(and) == "we" {
		and--
	}
	if and < 1 || ts.at(and) != "and" {
		return ts
	}
	p.addObstacle(Audio, ts[and+1:].text())
	return ts[:and]
}

// noteObstacle notes why an open question cannot be assessed.
func (p *parser) noteObstacle(ts words) {
	for _, t := range ts {
		switch {
		case textWords[t.w] && !(speechVerbs[t.w] && namesSpeaker(ts)):
			p.addObstacle(Text, ts.text())
		case audioWords[t.w] || hearingWords[t.w] || speechVerbs[t.w]:
			p.addObstacle(Audio, ts.text())
		case t.w == "who" || t.w == "whose" || t.w == "whom" || t.w == "name":
			p.addObstacle(Identity, ts.text())
		default:
			continue
		}
		return
	}
}

// readExistence reads the noun phrases after "is there".
func (p *parser) readExistence(ts words) bool {
	p.asksPresence = true
	first := len(p.subjects)
	if ts.at(0) == "not" || ts.at(0) == "n't" || ts.at(0) == "never" {
		p.negated = !p.negated
		ts = ts[1:]
	}
	i, ok := p.readNouns(ts, 0, false)
	if !ok {
		return false
	}
	return p.readListTail(ts, i, first)
}

// readListTail reads the words behind a list of subjects that starts at index first. A place at
// the end belongs to each subject: in "a cup and a bowl on the table" both are on it.
func (p *parser) readListTail(ts words, i, first int) bool {
	before, last := len(p.conditions), len(p.subjects)-1
	if !p.readTail(ts, i, last) {
		return false
	}
	p.copyConditions(before, first, last, func(c Condition) bool { return c.Kind == KindLocation })
	return true
}

// copyConditions copies conditions of the subject last to the subjects from first on. It takes
// the conditions from index before on that fit.
func (p *parser) copyConditions(before, first, last int, which func(Condition) bool) {
	for s := first; s < last; s++ {
		for _, c := range slices.Clone(p.conditions[before:]) {
			if c.Subject == p.subjects[last].ID && which(c) {
				p.addCondition(s, c.Kind, c.Value, c.Negated)
			}
		}
	}
}

// readAuxiliary reads "is the dog running", "does a dog appear", "is this a dog".
func (p *parser) readAuxiliary(ts words) bool {
	helper := bareVerbAuxiliaries[ts.at(0)]
	i := 0
	for auxiliaries[ts.at(i)] {
		i++
	}
	if ts.at(i) == "n't" {
		// "isn't there a dog" asks whether there is one.
		i++
	}
	if ts.at(i) == "not" {
		p.negated = !p.negated
		i++
	}
	if isDemonstrative(ts.at(i)) && i+1 < len(ts) && (determiners[ts.at(i+1)] || ts[i+1].name || number(ts.at(i+1)) >= 0) {
		return p.readExistence(ts[i+1:])
	}
	if isDemonstrative(ts.at(i)) && ts.at(i+1) == "be" && determiners[ts.at(i+2)] {
		// "could that be a bus"
		return p.readExistence(ts[i+2:])
	}
	if n := numberOf.match(ts, i); n > 0 {
		return p.readNumberClause(ts, i+n)
	}
	first := len(p.subjects)
	j, ok := p.readNouns(ts, i, helper)
	if act := openingVerbs[ts.at(j)]; ok && helper && act != "" {
		// "Does the door open" asks for a movement, "is the door open" for a state.
		ts = slices.Clone(ts)
		ts[j].w = act
	}
	if ok && !helper && j == len(ts) && slices.ContainsFunc(p.subjects[first:], endsInPredicate) {
		return false
	}
	return ok && p.readPredicate(ts, j, first)
}

// endsInPredicate reports whether a term ends in a word that may describe the subject
// instead. "is the dog hungry" does not ask for a "dog hungry".
func endsInPredicate(s Subject) bool {
	i := strings.LastIndexByte(s.Term, ' ')
	return i > 0 && vocabulary.Noun(s.Term[:i]) && !vocabulary.Noun(s.Term) && !vocabulary.Noun(s.Term[i+1:])
}

// openingVerbs maps a state to the movement into it: "does the door open".
var openingVerbs = map[string]string{"open": "opening", "close": "closing", "shut": "closing"}

func isDemonstrative(w string) bool {
	return w == "this" || w == "that" || w == "it" || w == "these" || w == "those" || w == "they"
}

// readPredicate reads the words behind a definite subject. They hold for all its nouns.
func (p *parser) readPredicate(ts words, i, first int) bool {
	if i >= len(ts) {
		// "is a dog [visible]" asks for the presence itself.
		p.asksPresence = true
		return true
	}
	before := len(p.conditions)
	subjects := len(p.subjects)
	if !p.readTail(ts, i, subjects-1) {
		return false
	}
	if len(p.conditions) == before && len(p.obstacles) == 0 {
		p.asksPresence = true
	}
	p.copyConditions(before, first, subjects-1, func(Condition) bool { return true })
	return true
}

// readStatement reads "a dog is running", "the dog appears", "dogs?".
func (p *parser) readStatement(ts words) bool {
	p.nounOnly = true
	first := len(p.subjects)
	i, ok := p.readNouns(ts, 0, true)
	if !ok {
		return false
	}
	if auxiliaries[ts.at(i)] {
		p.nounOnly = false
		for auxiliaries[ts.at(i)] {
			i++
		}
		if ts.at(i) == "n't" {
			p.negated = !p.negated
			i++
		}
		return p.readPredicate(ts, i, first)
	}
	p.asksPresence = !predicateFollows(ts, i)
	return p.readListTail(ts, i, first)
}

// predicateFollows reports whether a predicate follows the subject before i: "the man on the
// left is sitting". A relative clause does not count: "the man that is sitting".
func predicateFollows(ts words, i int) bool {
	for k := i; k < len(ts); k++ {
		if auxiliaries[ts.at(k)] && !possessiveVerbs[ts.at(k)] && !relativePronouns[ts.at(k-1)] {
			return true
		}
	}
	return false
}

var numberOf = phrases("the_number_of number_of the_total_number_of the_count_of")

// readNumberClause reads "is the number of people greater than 3".
func (p *parser) readNumberClause(ts words, i int) bool {
	i, ok := p.readNouns(ts, i, false)
	if !ok || len(p.subjects) != 1 {
		return false
	}
	if ts.at(i) == "exceed" || ts.at(i) == "exceeds" {
		if v := number(ts.at(i + 1)); v >= 0 && i+2 == len(ts) {
			p.subjects[0].Quantity = &Quantity{Op: MoreThan, Value: v}
			return true
		}
		return false
	}
	if low, high, n := numberRangeAt(ts, i); n > 0 && i+n == len(ts) {
		p.subjects[0].Quantity, p.atMost = &Quantity{Op: AtLeast, Value: low}, high
		return true
	}
	quantity, n := quantityAt(ts, i)
	if quantity == nil || i+n != len(ts) {
		return false
	}
	p.subjects[0].Quantity = quantity
	return true
}

var countFillers = set(`are is was were there do does did you we i can could be see spot have has had been being exist
	will in_total total overall the_video it they show contain will me us to detect find count on_it`)

// maximumPhrases ask for the largest number at one time. They are dropped, because a count
// always asks for that.
var maximumPhrases = phrases("at_most at_the_most at_maximum at_the_maximum maximum max")

// countEndings are verbs and pronouns at the end of a count: "how many people on the left can
// you see".
var countEndings = set("there are is were was do does did can could you we i see spot find count be have been")

// trimCount drops the words of a count that carry no condition.
func trimCount(ts words) words {
	var out words
	for i := 0; i < len(ts); {
		if n := maximumPhrases.match(ts, i); n > 0 && !ts[i].name {
			i += n
			continue
		}
		out = append(out, ts[i])
		i++
	}
	for len(out) > 1 && countEndings[out.at(len(out)-1)] {
		out = out[:len(out)-1]
	}
	return out
}

// readCountClause reads the words after "how many".
func (p *parser) readCountClause(ts words) bool {
	if ts.at(0) == "times" || ts.at(0) == "seconds" || ts.at(0) == "minutes" {
		return false
	}
	p.counting, p.asksPresence = true, true
	ts = trimCount(ts)
	i, ok := p.readNouns(ts, 0, true)
	if !ok {
		return false
	}
	for {
		if n := mediaPhraseBare(ts, i); n > 0 {
			i += n
			continue
		}
		if n := mediaPhraseBare(ts, i+1); n > 0 && ts.at(i) == "throughout" {
			p.addObstacle(ExhaustiveCount, ts[i:i+1+n].text())
			i += 1 + n
			continue
		}
		if !countFillers[ts.at(i)] {
			break
		}
		i++
	}
	if i < len(ts) && mediaVerbs[ts.at(i)] {
		i++
	}
	if !p.readTail(ts, i, len(p.subjects)-1) {
		return false
	}
	if len(p.subjects) > 1 {
		// "How many cats and dogs" asks for a sum, which no form of query holds.
		return false
	}
	// The number in "how many of the three dogs" is not a condition.
	for s := range p.subjects {
		p.subjects[s].Quantity = nil
	}
	return !p.negated
}

// mediaPhraseBare is the length of "the video" at i, or 0.
func mediaPhraseBare(ts words, i int) int {
	j := i
	for determiners[ts.at(j)] && j < i+2 {
		j++
	}
	defined := j > i
	if j += modifiers(ts, j); defined && mediaNouns[ts.at(j)] {
		return j + 1 - i
	}
	return 0
}
