package query

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

// mended are the words, beside those of the vocabulary, in which a spelling slip is
// mended. Short words are not: one edit too often makes another word.
var mended = set(`there people person video least exactly between seconds minutes beginning running walking sitting
	standing jumping falling raising wearing riding holding carrying driving sleeping dancing eating drinking playing
	swimming waving lying yellow orange purple black white green brown bottom middle centre center background foreground
	behind beside under front above right shirt jacket glasses helmet appear appears visible contain contains number
	count multiple several three seven eight eleven twelve closed empty parked please whether could would should
	inside outside left when with many wears`)

// mendable are all such words by their first letter.
var mendable = func() map[byte][]string {
	words := maps.Clone(mended)
	for w := range coco.meanings {
		if !strings.Contains(w, " ") {
			words[w] = true
		}
	}
	out := map[byte][]string{}
	for _, w := range slices.Sorted(maps.Keys(words)) {
		if len(w) >= minSlipLen || mended[w] {
			out[w[0]] = append(out[w[0]], w)
		}
	}
	return out
}()

// frequent are the words that even a word of four letters is mended into.
var frequent = set("video left when with many there")

// lexicon holds every single word that the rules know.
var lexicon = func() map[string]bool {
	out := map[string]bool{}
	add := func(w string) {
		for part := range strings.FieldsSeq(w) {
			out[part] = true
		}
	}
	for _, list := range []map[string]bool{
		knownNouns, determiners, owners, exhaustive, auxiliaries, helpers, relatives, media, settings, mediaModifiers,
		mediaVerbs, seeing, ingNouns, audio, reading, subjective, colours, attributes, clothing, features, countFillers,
		openLeads, hearing, persons, universal, amounts, pronoun, parts, manners, directions, adverbs, unchanged, mended, often, languages,
	} {
		for w := range list {
			add(w)
		}
	}
	for _, list := range []map[string]string{
		comparators, limits, actionForms, states, fixedPlaces, relations, edges, spans, instants, thirds, irregular, contractions,
		shades, sizes, garmentFolds, poses, actionFolds, rewrites, colourNames,
	} {
		for w, to := range list {
			add(w)
			add(to)
		}
	}
	for _, p := range []phraseSet{noise, wrappers, chatter, absent, freeOf, timeLeads, countLeads, middleOf} {
		for _, list := range p.byFirst {
			for _, parts := range list {
				for _, w := range parts {
					out[w] = true
				}
			}
		}
	}
	for w := range vague {
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

// mendWord corrects a word one slip away from exactly one word that the rules know. A
// word that means something of its own is never touched: one of the lexicon, an English
// word close to it, a capitalised name.
func mendWord(w string) string {
	if len(w) < minSlipLen-1 || lexicon[w] || lookalikes[w] || strings.ContainsFunc(w, notLetter) {
		return w
	}
	one := singularWord(w)
	if lexicon[one] || lookalikes[one] {
		return w
	}
	found := ""
	for _, known := range mendable[w[0]] {
		if !oneSlip(w, known) && !(one != w && len(one) >= minSlipLen && oneSlip(one, known)) {
			continue
		}
		if len(w) < minSlipLen && !frequent[known] {
			continue
		}
		if found != "" && (coco.meanings[found].classes == nil || !coco.meanings[found].same(coco.meanings[known])) {
			return w
		}
		if found == "" || oneSlip(w, known) && !oneSlip(w, found) {
			found = known
		}
	}
	if found == "" {
		return w
	}
	return found
}

func notLetter(r rune) bool { return !unicode.IsLower(r) || r > unicode.MaxASCII }
