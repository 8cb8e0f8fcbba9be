package predicate

import (
	"math"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

var crossingArms = Row{
	Kind: query.KindAction, Form: "crossing arms", Who: People, Needs: Needs{Pose: true},
	Example: "Is a person crossing their arms?",
	Phrases: []string{"folding arms", "arms crossed", "arms folded"},
	Bind:    exactly("crossing arms", Test{Read: crossed, Along: lasting(postureS, false)}),
}

const (
	// hiddenJoint is the score from which a wrist or an elbow counts when an arm across the body half
	// hides it. The other wrist must reach dimJoint, or the other elbow seenJoint.
	hiddenJoint = .1
	// turned is the distance between the elbows, by the width of the body, below which the body is seen
	// from the side.
	turned = .25
)

var (
	// acrossCurve is the probability that arms with level forearms are crossed. Its input is the distance
	// of a wrist from its own elbow toward the other elbow, in distances between the elbows. The distances
	// of both arms are added; hanging arms have 0. In pictures of 12 people with crossed arms it was .32
	// and .70 to 1.07; of 15 others with level forearms at most .53.
	acrossCurve = curve{{.45, .03}, {.55, .15}, {.65, .60}, {.75, .80}, {.9, .88}, {2, .88}}
	// levelCurve is the factor on that probability, by how far the wrists are below the elbows, in torsos.
	levelCurve = curve{{-.6, .05}, {-.4, .4}, {-.25, 1}, {.1, 1}, {.2, .3}, {.35, .04}}
)

// crossed reads whether each wrist is beside the other arm's elbow and the forearms are level.
func crossed(_ Frame, d evidence.Detection) Reading {
	b, ok := bodyOf(d)
	if !ok {
		return reading(0, false)
	}
	le, re, lw, rw := b.joints[leftElbow], b.joints[rightElbow], b.joints[leftWrist], b.joints[rightWrist]
	b.bar = hiddenJoint
	wrists := b.seen(leftWrist, rightWrist) && max(lw.Score, rw.Score) >= dimJoint
	elbows := min(le.Score, re.Score) >= hiddenJoint || max(le.Score, re.Score) >= seenJoint
	if !wrists || !elbows {
		return reading(0, false)
	}
	beneath := (lw.Y + rw.Y - le.Y - re.Y) / 2 / b.torso()
	apart := le.X - re.X
	if math.Abs(apart) < turned*(b.box.X2-b.box.X1) {
		return reading(.03, beneath > .35) // from the side
	}
	across := (le.X-lw.X)/apart + (rw.X-re.X)/apart
	return reading(max(.03, acrossCurve.at(across)*levelCurve.at(beneath)), true)
}
