package query

import "strings"

// thirds are the words for a part of the frame.
var thirds = map[string]string{
	"left": "left", "left-hand": "left", "leftmost": "left", "right": "right", "right-hand": "right", "rightmost": "right",
	"center": "centre", "centre": "centre", "middle": "centre", "central": "centre",
	"top": "top", "upper": "top", "uppermost": "top", "bottom": "bottom", "lower": "bottom", "lowermost": "bottom",
}

// regionNouns may follow such a word: "the left side".
var regionNouns = set("side half part third edge corner portion section area region hand side-hand")

// fixedPlaces are phrases for a place that are read as a whole.
var fixedPlaces = table(`
	middle: halfway_up in_the_vertical_middle vertically_in_the_middle
	corner: in_the_corner in_a_corner
	background: in_the_background in_the_distance far_away in_the_back at_the_back
	foreground: in_the_foreground in_the_front in_front at_the_front close_to_the_camera near_the_camera in_front_of_the_camera
	outside: outdoors outside
	inside: indoors
`)

var fixedPlacePhrases = phrasesOf(fixedPlaces)

// placeAt reads a place in the frame: "on the far left side", "in the top-left corner". With
// "of" behind it the phrase is a relation: "to the left of the car".
func placeAt(ts words, i int) (string, int) {
	place, n := lookup(fixedPlaces, fixedPlacePhrases, ts, i)
	if n == 0 {
		place, n = thirdAt(ts, i)
	}
	if n == 0 || ts.at(i+n) == "of" || place == "outside" && i+n < len(ts) && determiners[ts.at(i+n)] {
		return "", 0
	}
	return place, n
}

func thirdAt(ts words, i int) (string, int) {
	switch ts.at(i) {
	case "in", "on", "at", "to", "toward", "towards", "along", "near":
		if place, n := sideAt(ts, i+1); n > 0 {
			return place, n + 1
		}
	}
	return "", 0
}

// sideAt reads "the far left side".
func sideAt(ts words, i int) (string, int) {
	j := i
	if ts.at(j) == "the" {
		j++
	}
	for w := ts.at(j); w == "far" || w == "very" || w == "extreme"; w = ts.at(j) {
		j++
	}
	first, second, joined := strings.Cut(ts.at(j), "-")
	place := thirds[ts.at(j)]
	j++
	switch {
	case place == "" && joined:
		place = joinThirds(thirds[first], thirds[second])
	case place != "" && thirds[ts.at(j)] != "":
		place = joinThirds(place, thirds[ts.at(j)])
		j++
	}
	if place == "" {
		return "", 0
	}
	for regionNouns[ts.at(j)] {
		j++
	}
	return place, j - i
}

// joinThirds joins two thirds of different axes, the vertical one first. It is "" when they do
// not go together.
func joinThirds(a, b string) string {
	vertical := func(w string) bool { return w == "top" || w == "bottom" }
	horizontal := func(w string) bool { return w == "left" || w == "right" || w == "centre" }
	if horizontal(a) && vertical(b) {
		a, b = b, a
	}
	switch {
	case vertical(a) && b == "centre":
		return a
	case vertical(a) && horizontal(b):
		return a + " " + b
	case a == "centre" && horizontal(b):
		return b
	case b == "centre" && horizontal(a):
		return a
	}
	return ""
}

// relations are prepositions that place a subject relative to another thing.
var relations = table(`
	next to: next_to beside alongside adjacent_to by on_the_side_of at_the_side_of right_next_to directly_next_to
	near: near close_to around nearby
	left of: to_the_left_of left_of on_the_left_of on_the_left_side_of at_the_left_of
	right of: to_the_right_of right_of on_the_right_of on_the_right_side_of at_the_right_of
	in front of: in_front_of ahead_of
	behind: behind in_back_of
	on: on on_top_of upon atop
	in: in inside within inside_of
	under: under underneath below beneath
	above: above over
	between: between in_between
	at: at
	against: against
	across: across
	through: through
	along: along
	from: from
	into: into
	onto: onto
	toward: toward towards
	outside: outside_of outside
`)

// seats are things that people sit both "in" and "on".
var seats = set("chair armchair couch sofa bed")

// alreadySaid reports whether the last condition implies that subject s is at a place. People
// stand, walk, run and fall on the ground, they jump into the air, and they cross their arms
// before the chest.
func (p *parser) alreadySaid(s int, relation, place string) bool {
	last := len(p.conditions) - 1
	if last < 0 || p.conditions[last].Subject != p.subjects[s].ID || p.conditions[last].Negated {
		return false
	}
	on := relation == "on" || relation == "in"
	switch p.conditions[last].Value {
	case "standing", "walking", "running":
		return on && groundNouns[place]
	case "falling":
		return (on || relation == "onto") && groundNouns[place]
	case "jumping":
		return on && groundNouns[place] || place == "air" && (relation == "in" || relation == "into")
	case "crossing arms":
		return place == "chest" && (relation == "in front of" || relation == "above" || relation == "across" || on)
	}
	return false
}

// exclusiveValues are groups of values. An object has at most one of each group at a time.
var exclusiveValues = []map[string]bool{
	set("left centre right"), set("top middle bottom"), set("beginning middle end first_half second_half"),
	set("sitting standing lying kneeling crouching"),
}

// contradicts reports whether one subject must be in two places, postures or parts of the video
// at once. "Does the man sit down and stand up" means one after the other, which no query
// holds.
func (p *parser) contradicts() bool {
	for i, a := range p.conditions {
		for _, b := range p.conditions[:i] {
			if a.Subject == b.Subject && a.Kind == b.Kind && !a.Negated && !b.Negated && valuesClash(a.Value, b.Value) {
				return true
			}
		}
	}
	return false
}

// valuesClash compares the two halves of places ("top left") and whole values otherwise.
func valuesClash(a, b string) bool {
	for _, group := range exclusiveValues {
		v, w := memberOf(group, a), memberOf(group, b)
		if v != "" && w != "" && v != w {
			return true
		}
	}
	return false
}

// memberOf is the part of a value that is in a group, or "".
func memberOf(group map[string]bool, value string) string {
	if group[value] {
		return value
	}
	row, column, ok := strings.Cut(value, " ")
	if ok && thirds[row] == row && thirds[column] == column {
		for _, half := range []string{row, column} {
			if group[half] {
				return half
			}
		}
	}
	return ""
}

// groundNouns lists the words for the surface under a person or animal.
var groundNouns = set("ground floor grass sidewalk pavement")
