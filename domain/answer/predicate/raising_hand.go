package predicate

import (
	"vqa/domain/evidence"
	"vqa/domain/query"
)

var raisingHand = Row{
	Kind: query.KindAction, Form: "raising hand", Who: People, Needs: Needs{Pose: true},
	Example: "Is anyone raising a hand?",
	Phrases: []string{"raising hands", "raising arm", "raising arms", "hand up", "hands up", "arms up"},
	Bind:    exactly("raising hand", Test{Read: handUp, Along: lasting(.3, false)}),
}

// handUp reads a wrist above its elbow and above the shoulder, or little below it. Arms that are not seen
// are rarely raised.
func handUp(_ Frame, d evidence.Detection) Reading {
	b, ok := bodyOf(d)
	if !ok {
		return reading(0, false)
	}
	shoulders, ok := b.mean(leftShoulder, rightShoulder)
	best := .04
	for _, arm := range [][2]int{{leftElbow, leftWrist}, {rightElbow, rightWrist}} {
		elbow, wrist := b.joints[arm[0]], b.joints[arm[1]]
		if ok && b.seen(arm[0], arm[1]) && wrist.Y < elbow.Y {
			// The height of the wrist above the shoulders, in torsos.
			best = max(best, curve{{-.4, .04}, {-.3, .4}, {-.15, .75}, {0, .88}, {.2, .95}}.at((shoulders-wrist.Y)/b.torso()))
		}
	}
	return reading(best, ok)
}
