package query

import (
	"strings"

	"vqa/domain/query/vocabulary"
)

// actionSynonyms maps phrases to the action of the package comment that they mean.
var actionSynonyms = table(`
	raising hand: raising_hands raising_arm raising_arms putting_hand_up putting_hands_up putting_up_hand putting_up_hands holding_hand_up holding_hands_up holding_up_hand holding_up_hands raising_fist
	crossing arms: crossing_arm folding_arms folding_arm
	waving: waving_hand waving_hands waving_arm waving_arms waving_goodbye waving_hello
	standing: standing_still standing_upright getting_to_feet
	walking: taking_walk going_for_walk
	lying: lying_flat
	falling: falling_to_ground falling_to_floor
	jumping: doing_jump
`)

// posePhrases are poses as nouns, which follow "with" and "has": "with a hand up".
var posePhrases = table(`
	raising hand: hand_raised hands_raised arm_raised arms_raised hand_up hands_up arm_up arms_up raised_hand raised_hands raised_arm raised_arms
	crossing arms: arms_crossed arms_folded crossed_arms folded_arms crossed_arm folded_arm
`)

// bodyVerbs keep their meaning when a direction follows: "sitting down".
var bodyVerbs = set(`sitting standing lying kneeling crouching bending walking running jumping falling waving moving dancing
	turning sleeping`)

// directionWords add little to such a verb and are dropped. "away" and "backwards" change the
// meaning, so they are not listed.
var directionWords = set("down up over around past along")

// travelVerbs mean the same with a bare "by", "past" or "around" behind them. "turning" is not
// listed: turning around is more than turning.
var travelVerbs = set("running walking jumping dancing falling")

// verbFillers are words behind a verb that do not say how it is done. "slowly" does, so it is
// not listed.
var verbFillers = set(`together still just now all both directly right very so about already too
	towards_camera clearly currently`)

// actionOf is the normal form of an action: a verb in its -ing form and its objects.
func actionOf(verb string, objects words) string {
	var kept words
	for _, t := range nounPhrase(objects) {
		if verbFillers[t.w] {
			continue
		}
		kept = append(kept, t)
	}
	value := strings.TrimSpace(verb + " " + kept.text())
	if fold, ok := actionSynonyms[value]; ok {
		return fold
	}
	if !bodyVerbs[verb] {
		return value
	}
	for len(kept) > 0 && directionWords[kept.at(len(kept)-1)] {
		kept = kept[:len(kept)-1]
	}
	value = strings.TrimSpace(verb + " " + kept.text())
	if fold, ok := actionSynonyms[value]; ok {
		return fold
	}
	return value
}

// nounPhrase drops the determiners of a phrase and puts its last noun into the singular.
func nounPhrase(ts words) words {
	var out words
	for i, t := range ts {
		if !determiners[t.w] && !identityWords[t.w] || i > 0 && containerAt(ts, i-1) {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return nil
	}
	last := len(out) - 1
	if several := number(out.at(0)) > 1; several {
		return out
	}
	if one := vocabulary.Singular(out.at(last)); vocabulary.Noun(one) || bodyFeatures[one] || garmentName(one) != "" {
		out[last].w = one
	}
	return out
}

// clothingText is the normal form of clothing: "red and white shirt".
func clothingText(ts words) string {
	var out []string
	for i := 0; i < len(ts); {
		if value, n := colorsAt(ts, i); n > 0 {
			out = append(out, value)
			i += n
			continue
		}
		if w := ts.at(i); !determiners[w] && !identityWords[w] && w != "pair" && w != "pairs" {
			out = append(out, attributeName(w))
		}
		i++
	}
	if last := len(out) - 1; last >= 0 {
		if one := garmentName(out[last]); one != "" {
			out[last] = one
		}
	}
	return strings.Join(out, " ")
}

// garmentName is the normal name of a piece of clothing, or "" when w is not one.
func garmentName(w string) string {
	for _, name := range []string{w, vocabulary.Singular(w)} {
		if fold, ok := garmentSynonyms[name]; ok {
			return fold
		}
		if clothing[name] {
			return name
		}
	}
	return ""
}

var garmentSynonyms = table(`
	t-shirt: tshirt tee tee-shirt
	hat: beanie sombrero
	cap: baseball_cap
	trousers: pants trouser pant slacks
	jeans: jean
	glasses: eyeglasses spectacles
	sweater: jumper pullover sweatshirt
	shorts: short
	sneaker: trainer
	jacket: blazer
`)

// clothingChoiceAt reads a choice of colors at i, as in "a red or blue jacket" or "orange or
// yellow". It returns one "wearing" value for each color; values is empty for anything else.
func clothingChoiceAt(ts words, i int) (values []string, item string, end int) {
	for determiners[ts.at(i)] {
		i++
	}
	colors, n := colorChoiceAt(ts, i)
	if n == 0 {
		return nil, "", i
	}
	end = objectEnd(ts, i+n)
	item = clothingText(ts[i+n : end])
	for _, c := range colors {
		values = append(values, truncate(strings.TrimSpace("wearing "+c+" "+item)))
	}
	return values, item, end
}

// readClothing reads the clothes after "wearing", "in" or "with".
func (p *parser) readClothing(ts words, i, s int, negate bool) (int, bool) {
	if values, _, end := clothingChoiceAt(ts, i); len(values) > 0 {
		p.addChoice(s, values, negate)
		if item := garmentName(ts.at(end - 1)); item != "" {
			p.objects = append(p.objects, item)
		}
		return end, true
	}
	for {
		end := objectEnd(ts, i)
		none := ts.at(i) == "no"
		if none {
			i++
		}
		value := clothingText(ts[min(i, end):end])
		p.noteOwner(ts[min(i, end):end])
		if value == "" {
			return i, false
		}
		p.addCondition(s, KindAttribute, truncate("wearing "+value), negate != none)
		if item := garmentName(ts.at(end - 1)); item != "" {
			p.objects = append(p.objects, item)
		}
		if ts.at(end) == "on" && end+1 == len(ts) {
			// "has a hat on"
			return end + 1, true
		}
		op, n := conjunctionAt(ts, end)
		next := objectEnd(ts, end+n)
		if n == 0 || next == end+n || garmentName(ts.at(next-1)) == "" || negate && op == Any {
			return end, true
		}
		if op == Any {
			p.noteAlternative(KindAttribute)
		}
		i = end + n
	}
}

// readAction reads a verb and its objects: "raising a hand".
func (p *parser) readAction(ts words, i, s int, negate bool) (int, bool) {
	verb := gerund(ts.at(i))
	if verb == "looking" && subjectiveWords[ts.at(i+1)] {
		p.addObstacle(Subjective, ts[i:].text())
		return len(ts), true
	}
	if verb == "talking" && languages[ts.at(i+1)] {
		p.addObstacle(Audio, ts[i:].text())
		return len(ts), true
	}
	if verb == "talking" && ts.at(i+1) != "on" && ts.at(i+1) != "to" && ts.at(i+1) != "with" {
		// Talking on the phone or to somebody can be seen. Talking alone can only be heard.
		p.addObstacle(Audio, ts[i:].text())
	}
	if p.asksPresence && p.placedByPerson(ts, i) {
		return i, false
	}
	if verb == "wearing" || verb == "dressed" {
		return p.readClothing(ts, i+1, s, negate)
	}
	if _, n := colorsAt(ts, i+1); verb == "looking" && n > 0 {
		// "looks red"
		return i + 1, true
	}
	end := objectEnd(ts, i+1)
	if playing := verb == "playing" && ts.at(end) == "with"; playing {
		end = objectEnd(ts, end+1)
	}
	objects := ts[i+1 : end]
	if (verb == "entering" || verb == "leaving") && len(objects) > 0 && mediaPhraseBare(objects, 0) == len(objects) {
		// The frame itself is entered or left when nothing else is named.
		objects = nil
	}
	if ridden := ridingVerbs[verb]; ridden != "" && len(objects) == 0 {
		verb, objects = "riding", words{{w: ridden}}
	}
	if len(objects) > 0 {
		p.addObject(objects)
	}
	value := actionOf(verb, objects)
	if way := directionPrepositions[ts.at(end)]; way != "" {
		if side, n := sideAt(ts, end+1); n > 0 && ts.at(end+1+n) != "of" {
			// "walking to the left" is a direction, not a place.
			value += " " + way + " " + side
			end += 1 + n
		}
	}
	p.addCondition(s, KindAction, truncate(value), negate)
	p.stem, p.article = verb, objects.at(0)
	if objects.at(0) == "with" {
		p.stem, p.article = verb+" with", objects.at(1)
	}
	return end, true
}

// ridingVerbs maps verbs that name a vehicle or an animal to the thing that is ridden.
var ridingVerbs = map[string]string{
	"cycling": "bicycle", "biking": "bicycle", "bicycling": "bicycle", "motorcycling": "motorcycle", "motorbiking": "motorcycle",
	"skiing": "skis", "snowboarding": "snowboard", "skateboarding": "skateboard", "surfing": "surfboard",
}

// directionPrepositions start a direction: "to the left".
var directionPrepositions = map[string]string{"to": "toward", "toward": "toward", "towards": "toward", "from": "from"}

// isAction reports whether the word at i is a verb that a subject can do.
func isAction(ts words, i int) bool {
	w := ts.at(i)
	if _, ok := actionForms[w]; ok {
		return true
	}
	return len(w) > 4 && strings.HasSuffix(w, "ing") && !ingNouns[w] && !vocabulary.Noun(w) &&
		!vocabulary.Noun(vocabulary.Singular(w+" "+ts.at(i+1)))
}

// gerund is the -ing form of a verb of actionForms. It returns any other word unchanged.
func gerund(w string) string {
	if g, ok := actionForms[w]; ok {
		return g
	}
	return w
}
