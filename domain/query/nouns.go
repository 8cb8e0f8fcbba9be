package query

import "strings"

// knownNouns are the nouns that the compiler knows. They separate "fluffy dog" (a dog) from
// "fire hydrant". They say nothing about the classes of a model.
var knownNouns = func() map[string]bool {
	out := map[string]bool{}
	for _, w := range coco.words {
		out[w] = true
	}
	for w := range set(`door window house tree building road street sky cloud river lake sea beach grass mountain box ball
		shirt hat shoe helmet glove rope wall floor roof sign light lamp candle fire water smoke flag fence gate bridge
		robot machine engine wheel tire tyre drone camera pen pencil paper card coin key money gun weapon sword stick
		rabbit bunny squirrel fox wolf lion tiger monkey goat pig chicken fish shark whale dolphin snake frog
		turtle spider bee butterfly team driver
		shopping_cart swimming_pool washing_machine running_shoe parking_lot parking_space license_plate stuffed_animal
		traffic_cone speed_limit_sign street_light stop_watch unicorn ladder barrel bucket basket tent swing slide_board
		pedestrian_crossing zebra_crossing sewing_machine dining_room living_room vending_machine rocking_chair
		scooter coach flower desk notebook ground sidewalk pavement`) {
		out[w] = true
	}
	return out
}()

var irregular = table(`
	person: people persons peoples ppl folks
	man: men
	woman: women
	child: children
	mouse: mice
	goose: geese
	foot: feet
	tooth: teeth
	ox: oxen
	knife: knives
	wife: wives
	wolf: wolves
	calf: calves
	leaf: leaves
	loaf: loaves
	shelf: shelves
	half: halves
	scarf: scarves
	thief: thieves
	potato: potatoes
	tomato: tomatoes
	hero: heroes
	bus: buses busses
	lens: lenses
	skis: skis
	movie: movies
	cookie: cookies
	selfie: selfies
	doggie: doggies
	tie: ties
	pie: pies
	shoe: shoes
	toe: toes
	canoe: canoes
	axe: axes
	cache: caches
	house: houses
	horse: horses
	nose: noses
	rose: roses
	vase: vases
	case: cases
	suitcase: suitcases
	purse: purses
	hose: hoses
	mousse: mousses
	passerby: passersby passers-by passer-by
	bystander: bystanders
	headache: headaches
	human being: human_beings
`)

// unchanged are nouns that end in s in the singular, or have a plural of the same form.
var unchanged = set(`bus glass wine_glass scissors pants trousers jeans shorts sunglasses
	binoculars tennis chess gas lens dress grass class boss cross kiss mess moss princess waitress actress mattress
	goddess hostess witness canvas atlas iris cactus octopus hippopotamus walrus platypus virus campus circus
	tennis_racket species series sheep deer fish moose aircraft cattle luggage furniture food fruit skis
	broccoli hovercraft spacecraft stairs headphones earphones tongs pliers tweezers clothes goods news police
	christmas compass address business fitness bass harness fortress mistress seamstress congress process access
	press success abs us this is was has yes lotus bonus genius chorus crocus fungus`)

// singular returns the singular of an English noun phrase in lower case; only the last word
// changes. A singular or an unknown word comes back unchanged.
func singular(term string) string {
	if one, ok := irregular[term]; ok {
		return one
	}
	head, last := "", term
	if i := strings.LastIndexByte(term, ' '); i >= 0 {
		head, last = term[:i+1], term[i+1:]
	}
	return head + singularWord(last)
}

func singularWord(w string) string {
	if one, ok := irregular[w]; ok {
		return one
	}
	if unchanged[w] || len(w) < 4 && w != "tvs" {
		return w
	}
	switch {
	case strings.HasSuffix(w, "men") && len(w) > 4 && w != "specimen" && w != "abdomen":
		return strings.TrimSuffix(w, "men") + "man"
	case strings.HasSuffix(w, "ies"):
		return strings.TrimSuffix(w, "ies") + "y"
	case hasAny(w, "sses", "shes", "ches", "xes", "zzes"):
		return strings.TrimSuffix(w, "es")
	case hasAny(w, "ss", "us", "is"):
		return w
	case strings.HasSuffix(w, "s"):
		return strings.TrimSuffix(w, "s")
	}
	return w
}

func hasAny(w string, suffixes ...string) bool {
	for _, s := range suffixes {
		if strings.HasSuffix(w, s) {
			return true
		}
	}
	return false
}
