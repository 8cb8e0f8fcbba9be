package query

import (
	"slices"
	"strings"
)

// Occurrence is something that is over within moments: it shows in no frame alone.
type Occurrence string

// The happenings that the way of a body or a box through the frames can tell.
const (
	Jumping  Occurrence = "jumping"
	Falling  Occurrence = "falling"
	Entering Occurrence = "entering"
	Leaving  Occurrence = "leaving"
)

// frameSides are those by which something enters and leaves.
var frameSides = set("left right top bottom")

// Occurrence is what an action says that happens, and by which side of the frame: left,
// right, top or bottom, "" for any. ok is false for any other action. What is entered or
// left is the picture, or the scene that it shows: "entering room".
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

// NeedsDenseSamples reports whether an answer to q needs more looks than a few a second.
func NeedsDenseSamples(q Query) bool {
	return Assessable(q) && slices.ContainsFunc(q.Conditions, func(c Condition) bool {
		h, _, ok := c.Occurrence()
		return ok && (h == Jumping || h == Falling)
	})
}

// passageVerbs are the verbs with which one comes and goes.
var passageVerbs = set("walking coming going moving stepping driving")

// passageAt reads "walks into the frame", "comes in from" and "goes out of the room" at i
// as entering or leaving; n is 0 where nothing of the kind is said.
func passageAt(ts words, i int) (verb string, n int) {
	if !passageVerbs[gerund(ts.at(i))] {
		return "", 0
	}
	on := i + 2
	open := on >= len(ts) || directionPrepositions[ts.at(on)] != "" // what is entered or left is not named
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

// sceneAt is the length of "the picture", "view" or "the room" at i, 0 for anything else.
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
