package query

import (
	"strings"
)

// Occurrence is an action that takes place within moments. No single frame shows it.
type Occurrence string

// The occurrences that the path of a body or a box through the frames shows.
const (
	Jumping  Occurrence = "jumping"
	Falling  Occurrence = "falling"
	Entering Occurrence = "entering"
	Leaving  Occurrence = "leaving"
)

// frameSides are the sides by which an object enters and leaves.
var frameSides = set("left right top bottom")

// Occurrence is the occurrence that an action asks for, and the side of the frame where it
// takes place. The side is left, right, top or bottom, or "" for any. ok is false for any
// other action. The thing that is entered or left is the frame, or the scene that it shows:
// "entering room".
func (c Condition) Occurrence() (h Occurrence, side string, ok bool) {
	if c.Kind != KindAction {
		return "", "", false
	}
	verb, rest, _ := strings.Cut(c.Value, " ")
	switch h = Occurrence(verb); h {
	case Jumping, Falling:
		return h, "", rest == ""
	case Entering, Leaving:
		way := " from "
		if h == Leaving && !strings.Contains(" "+rest, way) {
			way = " toward "
		}
		scene, side, sided := strings.Cut(" "+rest, way)
		scene = strings.TrimSpace(scene)
		return h, side, (scene == "" || scenes[scene]) && sided == frameSides[side]
	}
	return "", "", false
}

// passageVerbs are the verbs for coming and going.
var passageVerbs = set("walking coming going moving stepping driving")

// passageAt reads "walks into the frame", "comes in from" and "goes out of the room" at i
// as entering or leaving. n is 0 for anything else.
func passageAt(ts words, i int) (verb string, n int) {
	if !passageVerbs[gerund(ts.at(i))] {
		return "", 0
	}
	on := i + 2
	open := on >= len(ts) || directionPrepositions[ts.at(on)] != "" // no place is named
	switch w := ts.at(i + 1); {
	case w == "into":
		if n := sceneAt(ts, on); n > 0 {
			return "entering", 2 + n
		}
	case w == "out" && ts.at(on) == "of":
		if n := sceneAt(ts, on+1); n > 0 {
			return "leaving", 3 + n
		}
	case w == "in" && open:
		return "entering", 2
	case (w == "out" || w == "off") && open:
		return "leaving", 2
	}
	return "", 0
}

// sceneAt is the length of "the picture", "view" or "the room" at i, or 0.
func sceneAt(ts words, i int) int {
	j := i
	for determiners[ts.at(j)] && j < i+2 {
		j++
	}
	if k := j + modifiers(ts, j); mediaNouns[ts.at(k)] {
		return k + 1 - i
	}
	for n := 2; n > 0 && j > i; n-- {
		if j+n <= len(ts) && scenes[ts[j:j+n].text()] {
			return j + n - i
		}
	}
	return 0
}
