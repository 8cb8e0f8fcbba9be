package query

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

// correctedWords are the words, besides those of the vocabulary, whose misspellings are
// corrected. Short words are left out: one edit too often makes another word.
var correctedWords = set(`there people person video least exactly between seconds minutes beginning running walking sitting
	standing jumping falling raising wearing riding holding carrying driving sleeping dancing eating drinking playing
	swimming waving lying yellow orange purple black white green brown bottom middle centre center background foreground
	behind beside under front above right shirt jacket glasses helmet appear appears visible contain contains number
	count multiple several three seven eight eleven twelve closed empty parked please whether could would should
	inside outside left when with many wears`)

// correctableByLetter are all words with corrections, by their first letter.
var correctableByLetter = func() map[byte][]string {
	words := maps.Clone(correctedWords)
	for w := range coco.meanings {
		if !strings.Contains(w, " ") {
			words[w] = true
		}
	}
	out := map[byte][]string{}
	for _, w := range slices.Sorted(maps.Keys(words)) {
		if len(w) >= minCorrectLen || correctedWords[w] {
			out[w[0]] = append(out[w[0]], w)
		}
	}
	return out
}()

// correctedShortWords are the targets to which even a word of four letters is corrected.
var correctedShortWords = set("video left when with many there")

// lexicon holds every single word that the rules know.
var lexicon = func() map[string]bool {
	out := map[string]bool{}
	add := func(w string) {
		for part := range strings.FieldsSeq(w) {
			out[part] = true
		}
	}
	for _, list := range []map[string]bool{
		knownNouns, determiners, identityWords, exhaustiveWords, auxiliaries, bareVerbAuxiliaries, relativePronouns, mediaNouns, scenes, mediaModifiers,
		mediaVerbs, seeingVerbs, ingNouns, audioWords, textWords, subjectiveWords, colorWords, attributeWords, clothing, bodyFeatures, countFillers,
		openQuestionWords, hearingWords, personWords, universalWords, vagueAmounts, nonSubjects, regionNouns, verbFillers, directionWords, tailFillers, unchanged, correctedWords, unsupportedModifiers, languages,
	} {
		for w := range list {
			add(w)
		}
	}
	for _, list := range []map[string]string{
		comparators, trailingComparators, actionForms, stateWords, fixedPlaces, relations, namedWindowWords, videoEndWords, timePrepositions, thirds, irregular, contractions,
		shades, sizes, garmentSynonyms, posePhrases, actionSynonyms, rewrites, colorNames,
	} {
		for w, to := range list {
			add(w)
			add(to)
		}
	}
	for _, p := range []phraseSet{noisePhrases, politeLeads, emptySentences, absentPhrases, absencePhrases, timeLeads, countLeads, middleOf} {
		for _, list := range p.byFirst {
			for _, parts := range list {
				for _, w := range parts {
					out[w] = true
				}
			}
		}
	}
	for w := range vagueQuantities {
		add(w)
	}
	for w := range numbers {
		add(w)
	}
	for w := range unitMS {
		add(w)
	}
	for w := range conjunctions {
		add(w)
	}
	for w := range coco.meanings {
		add(w)
	}
	return out
}()

// correctWord corrects a word that is one edit away from exactly one known word. It never
// changes a word with its own meaning: a word of the lexicon, a lookalike or a capitalized
// name.
func correctWord(w string) string {
	if len(w) < minCorrectLen-1 || lexicon[w] || lookalikes[w] || strings.ContainsFunc(w, notLetter) {
		return w
	}
	one := singularWord(w)
	if lexicon[one] || lookalikes[one] {
		return w
	}
	found := ""
	for _, known := range correctableByLetter[w[0]] {
		if !oneEdit(w, known) && !(one != w && len(one) >= minCorrectLen && oneEdit(one, known)) {
			continue
		}
		if len(w) < minCorrectLen && !correctedShortWords[known] {
			continue
		}
		if found != "" && (coco.meanings[found].classes == nil || !coco.meanings[found].same(coco.meanings[known])) {
			return w
		}
		if found == "" || oneEdit(w, known) && !oneEdit(w, found) {
			found = known
		}
	}
	if found == "" {
		return w
	}
	return found
}

func notLetter(r rune) bool { return !unicode.IsLower(r) || r > unicode.MaxASCII }
