package query

import (
	"slices"
	"strings"

	"vqa/domain/query/vocabulary"
)

// dropPoliteness drops politeness at both ends: "Hi, can you please tell me if … , thanks".
func dropPoliteness(ts words) words {
	ts = dropTagQuestion(ts)
	if len(ts) > 0 && emptySentences.match(ts, 0) == len(ts) {
		return nil
	}
	for len(ts) > 0 {
		n := politeLeads.match(ts, 0)
		if n == 0 {
			break
		}
		if guardedLeads[ts[:n].text()] && n < len(ts) && !clauseStarters[ts.at(n)] {
			break
		}
		if ts.at(0) == "that" && n == 1 && auxiliaries[ts.at(1)] {
			break
		}
		ts = ts[n:]
	}
	for len(ts) > 0 {
		last := ts.at(len(ts) - 1)
		if last != "please" && last != "," && last != "thanks" && last != "right" {
			break
		}
		if stated := ts.at(0) == "there" && auxiliaries[ts.at(1)]; last == "right" && ts.at(len(ts)-2) != "," &&
			!(stated && !determiners[ts.at(len(ts)-2)] && ts.at(len(ts)-2) != "on") {
			break
		}
		ts = ts[:len(ts)-1]
	}
	if n := thanksAt(ts); n < len(ts) {
		return dropPoliteness(ts[:n])
	}
	return ts
}

// thanksAt is the index where the thanks at the end begin: "thank you so much". It is len(ts)
// when there are none, or when nothing else was said.
func thanksAt(ts words) int {
	i := len(ts)
	for i > 1 && gratitude[ts.at(i-1)] {
		i--
		if w := ts.at(i); w == "thanks" || w == "thank" || w == "cheers" {
			return i
		}
	}
	return len(ts)
}

var gratitude = set("thanks thank cheers you very so much a lot in advance again kindly for your help")

// moveLeadingPlace moves a place from the front of a question to its end: "on the left, is
// there a dog".
func moveLeadingPlace(ts words) words {
	_, n := placeAt(ts, 0)
	if n == 0 {
		return ts
	}
	rest := ts[n:]
	if rest.at(0) == "," {
		rest = rest[1:]
	}
	if !auxiliaries[rest.at(0)] && countLeads.match(rest, 0) == 0 {
		return ts
	}
	return append(slices.Clone(rest), ts[:n]...)
}

// dropTagQuestion drops a tag question from the end: ", isn't there".
func dropTagQuestion(ts words) words {
	n := len(ts)
	if n < 4 || !tagPronouns[ts.at(n-1)] {
		return ts
	}
	i := n - 2
	if ts.at(i) == "n't" || ts.at(i) == "not" {
		i--
	}
	switch {
	case !auxiliaries[ts.at(i)] || i < 2:
	case ts.at(i-1) == "," || ts.at(i-1) == "or" && i < n-2:
		return ts[:i-1]
	case ts.at(i+1) == "n't" && !auxiliaries[ts.at(0)]:
		return ts[:i]
	}
	return ts
}

var tagPronouns = set("there it they he she you we")

// clean drops words that do not change the question, such as "in the video", and rewrites
// phrases to shorter ones. Words for absence become the one word "absent".
func clean(ts words) words {
	var out words
	for i := 0; i < len(ts); {
		if to, n := lookup(rewrites, rewritePhrases, ts, i); n > 0 {
			for w := range strings.FieldsSeq(to) {
				out = append(out, token{w: w})
			}
			i += n
			continue
		}
		if verb, n := passageAt(ts, i); n > 0 {
			out = append(out, token{w: verb})
			i += n
			continue
		}
		if color, n := ofColorAt(ts, i); n > 0 {
			out = append(out, color...)
			i += n
			continue
		}
		if n := absentPhrases.match(ts, i); n > 0 && !(n == 1 && determiners[out.at(len(out)-1)]) {
			out = append(out, token{w: "absent"})
			i += n
			continue
		}
		if n := mediaPhrase(ts, i); n > 0 && out.at(len(out)-1) != "front" {
			i += n
			continue
		}
		if n := noisePhrases.match(ts, i); n > 0 {
			i += n
			continue
		}
		if isFillerStill(ts, i, out) {
			i++
			continue
		}
		if owner, n := ownedPoseAt(ts, i); n > 0 {
			// "is a person's hand raised" becomes "is a person with a hand raised".
			out = append(out, token{w: owner}, token{w: "with"})
			i += n
			continue
		}
		if wearer, worn, n := ownedGarmentAt(ts, i); n > 0 {
			// "is the man's shirt red" becomes "is the man wearing a red shirt".
			out = append(append(out, token{w: wearer}, token{w: "wearing"}), worn...)
			i += n
			continue
		}
		// A comma behind "is there" has no meaning.
		if before := out.at(len(out) - 1); ts.at(i) == "," && (before == "there" || auxiliaries[before] || before == ",") {
			i++
			continue
		}
		// "present" says nothing as an adjective. After an article it is a noun.
		if w := ts.at(i); (w == "present" || w == "there" && i+1 == len(ts)) && i > 0 && !determiners[ts.at(i-1)] && ts.at(i-1) != "are" {
			i++
			continue
		}
		out = append(out, ts[i])
		i++
	}
	for len(out) > 0 && (out.at(len(out)-1) == "," || out.at(len(out)-1) == "all" && out.has("and")) {
		// "a dog and a cat all [visible]"
		out = out[:len(out)-1]
	}
	return out
}

// isFillerStill reports whether the word at i is the "still" of "is there still a dog", which
// says nothing about the dog. In "is the dog still" it does.
func isFillerStill(ts words, i int, before words) bool {
	last := before.at(len(before) - 1)
	return ts.at(i) == "still" && i+1 < len(ts) && ts.at(i+1) != "," && conjunctions[ts.at(i+1)] == "" &&
		(last == "there" || auxiliaries[last] || determiners[ts.at(i+1)] || mediaPrepositions[ts.at(i+1)])
}

// ownedPoseAt reads the owner of a pose: "person's hand raised", or "anyone is hand raised" as
// left by the expansion of contractions. n is 0 when the words at i are something else.
func ownedPoseAt(ts words, i int) (owner string, n int) {
	owner, n = strings.TrimSuffix(ts.at(i), "'s"), 1
	if owner == ts.at(i) && personWords[owner] && ts.at(i+1) == "is" {
		n = 2
	} else if owner == ts.at(i) || !vocabulary.Noun(owner) {
		return "", 0
	}
	if i+n+2 > len(ts) || posePhrases[ts[i+n:i+n+2].text()] == "" {
		return "", 0
	}
	return owner, n
}

// ownedGarmentAt reads the wearer of a garment and its color: "man's shirt red". worn is the
// garment with its color. n is 0 when the words at i are something else.
func ownedGarmentAt(ts words, i int) (wearer string, worn words, n int) {
	wearer = strings.TrimSuffix(ts.at(i), "'s")
	switch w := ts.at(i); {
	case w == "his" || w == "her" || w == "their":
		wearer = "they"
	case wearer == w || !vocabulary.Noun(wearer):
		return "", nil, 0
	}
	if item := ts.at(i + 1); garmentName(item) == "" && !coloredGarments[UpperBody][item] {
		return "", nil, 0
	}
	if _, n = colorChoiceAt(ts, i+2); n == 0 {
		_, n = colorsAt(ts, i+2)
	}
	if n == 0 || ts.at(i+2+n) == "or" {
		return "", nil, 0
	}
	return wearer, append(slices.Clone(ts[i+2:i+2+n]), ts[i+1]), 2 + n
}

// rewrites maps phrases to shorter phrases with the same meaning.
var rewrites = map[string]string{
	"hand in the air": "hand up", "hands in the air": "hands up", "arm in the air": "arm up", "arms in the air": "arms up",
	"side by side with": "next to", "accompanied by": "with", "dressed in": "wearing", "clothed in": "wearing",
	"in the company of": "with", "presence of": "", "the presence of": "", "looking for": "see", "have you seen": "is there", "a lot of": "many", "lots of": "many", "loads of": "many", "plenty of": "many",
	"the color of": "", "the colour of": "", "in color": "", "in colour": "", "colored in": "", "coloured in": "",
	"a number of": "multiple", "in front of the camera": "",
	"from left to right": "rightwards", "from right to left": "leftwards",
	"from the left to the right": "rightwards", "from the right to the left": "leftwards", "at least 1 of": "any", "at least one of": "any",
	"at no point": "not", "at no time": "not", "at no moment": "not", "someone else": "someone", "still there": "", "still here": "", "still visible": "", "not one": "no", "not contain": "lack", "n't contain": "lack", "not show": "lack",
	"n't show": "lack", "not include": "lack", "n't include": "lack", "both of": "both", "on fire": "burning", "up and down": "", "going up": "climbing",
	"on horseback": "riding a horse", "riding on horseback": "riding a horse",
	"on foot": "walking", "on his feet": "standing", "on her feet": "standing", "on their feet": "standing",
	"on the move": "moving", "in motion": "moving",
	"any kind of": "any", "any kinds of": "any", "any sort of": "any", "any type of": "any", "any types of": "any",
	"some kind of": "some", "some sort of": "some", "some type of": "some",
	"a pair of scissors": "a scissors", "a pair of skis": "a skis", "a pair of glasses": "a glasses", "a pair of sunglasses": "a sunglasses",
	"a pair of headphones": "a headphones", "a pair of binoculars": "a binoculars",
	"seems to be": "is", "seem to be": "are", "sat down": "sitting", "made of": "",
}

var rewritePhrases = phrasesOf(rewrites)

var mediaPrepositions = set("in on within during inside from of through across into")

// mediaPhrase is the length of "in the whole video" at i, or 0.
func mediaPhrase(ts words, i int) int {
	if ways := ts.at(i) == "along" || ts.at(i) == "down" || ts.at(i) == "up"; ways && (travelVerbs[gerund(ts.at(i-1))] || ridingVerbs[ts.at(i-1)] != "") && ts.at(i+1) == "the" && scenes[ts.at(i+2)] {
		// "walking down the street"
		return 3
	}
	if !mediaPrepositions[ts.at(i)] {
		return 0
	}
	j := i + 1
	for k := 0; k < 2 && (determiners[ts.at(j)] && ts.at(j) != "of" || identityWords[ts.at(j)]); k++ {
		j++
	}
	if definite := ts.at(i+1) == "the" || ts.at(i+1) == "this"; definite && j == i+2 && !crossingPrepositions[ts.at(i)] {
		for n := 2; n > 0; n-- {
			if j+n <= len(ts) && scenes[ts[j:j+n].text()] {
				return 2 + n
			}
		}
	}
	j += modifiers(ts, j)
	if !mediaNouns[ts.at(j)] || ts.at(j) == "it" && refersBack(ts, i) {
		return 0
	}
	return j + 1 - i
}

// refersBack reports whether the "it" behind the preposition at i is an object named
// before, rather than the video. Examples are "left of it" and "a bench with two people on
// it".
func refersBack(ts words, i int) bool {
	return ts.at(i) != "in" && ts.at(i) != "within" || ts[:i].has("with")
}

// crossingPrepositions say more than "in": "walking across the room".
var crossingPrepositions = set("of across from into through")

// modifiers counts the words at i that stand before a media noun: "whole" before "video".
func modifiers(ts words, i int) int {
	j := i
	for mediaModifiers[ts.at(j)] && (mediaNouns[ts.at(j+1)] || mediaModifiers[ts.at(j+1)]) {
		j++
	}
	return j - i
}
