package query

import (
	"slices"
	"strings"
	"unicode"

	"vqa/domain/query/vocabulary"
)

// maxUnknownWords is the largest number of words in a term without a known noun. Longer ones
// are more likely a sentence that the rules did not understand.
const maxUnknownWords = 3

// addNounSubject adds the subject that the words of a noun phrase name. The term is the longest
// known noun at their end, and the words before it become attributes. Without a known noun all
// the words are the term.
func (p *parser) addNounSubject(noun words, quantity *Quantity, before []pending, end int) (int, bool) {
	if audioWords[noun.at(len(noun)-1)] {
		p.addObstacle(Audio, noun.text())
		return end, false
	}
	if textWords[vocabulary.Singular(noun.at(len(noun)-1))] || textWords[noun.at(len(noun)-1)] {
		p.addObstacle(Text, noun.text())
		return end, false
	}
	if pose, held := posePhrases[noun.text()]; held && quantity == nil && !p.counting && len(before) == 0 {
		// "a raised hand" belongs to a person.
		p.addCondition(p.addSubject("person", nil), KindAction, pose, false)
		return end, true
	}
	term, from := vocabulary.Singular(noun.text()), 0
	filled := containerAt(noun, 0)
	for !filled && from < len(noun) && !vocabulary.Noun(vocabulary.Singular(noun[from:].text())) {
		from++
	}
	known := from < len(noun)
	if filled {
		term = containerTerm(noun)
	} else if known {
		term = vocabulary.Singular(noun[from:].text())
	} else if from = 0; len(noun) > maxUnknownWords || p.nounOnly && len(noun) > 1 {
		return end, false
	}
	if first := noun.at(0); !known && len(noun) > 1 && vocabulary.Noun(vocabulary.Singular(first)) && vocabulary.Singular(first) != first {
		// "people max": a plural noun does not begin a longer noun.
		return end, false
	}
	if nonSubjects[term] || len(noun) > 1 && nonSubjects[noun.at(0)] || !strings.ContainsFunc(term, unicode.IsLetter) {
		return end, false
	}
	if !known && colorWords[term] {
		// "one black and one white"
		return end, false
	}
	if p.nounOnly && (!known && attributeWords[term] ||
		slices.ContainsFunc(noun[:from], func(t token) bool { return vocabulary.Noun(vocabulary.Singular(t.w)) })) {
		// "red", "dog cat"
		return end, false
	}
	if slices.ContainsFunc(noun[:from], func(t token) bool { return !strings.ContainsFunc(t.w, unicode.IsLetter) }) {
		return end, false
	}
	s := p.addSubject(term, quantity)
	for _, b := range before {
		p.addCondition(s, b.kind, b.value, false)
	}
	for _, t := range noun[:from] {
		p.addCondition(s, KindAttribute, attributeName(t.w), false)
	}
	return end, true
}

// nonSubjects are pronouns and other words that never name a subject.
var nonSubjects = set(`it this that these those thing something anything nothing everything what which who i you we me us
	one video clip footage question time way sense reason answer moment yes ok hello left right see hear
	beginning start middle end top bottom front back side timestamp moment segment scene frame
	hardly barely scarcely almost nearly then`)

// containers are things that people name together with their content.
var containers = set("bowl cup glass bottle plate mug basket box bag bucket jar can")

// containerAt reports whether "bowl of soup" or "slice of pizza" begins at i.
func containerAt(ts words, i int) bool {
	one := vocabulary.Singular(ts.at(i))
	return (vocabulary.Portion(one) || containers[one]) && ts.at(i+1) == "of" && i+2 < len(ts) && !determiners[ts.at(i+2)]
}

// containerTerm is the term for a container or portion. It keeps both words: a bowl of soup is
// neither any bowl nor soup.
func containerTerm(ts words) string {
	return vocabulary.Singular(ts.at(0)) + " of " + nounPhrase(ts[2:]).text()
}
