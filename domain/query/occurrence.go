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

// scenes are words for a setting. A definite one is the scene of the video: "in the room".
var scenes = set(`room classroom kitchen office park street road highway yard backyard garden field beach hallway bedroom
	bathroom living_room dining_room parking_lot warehouse store shop restaurant gym factory
	corridor lobby area place path trail playground forest woods`)

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
