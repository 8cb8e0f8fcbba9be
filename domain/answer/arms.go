package answer

import "math"

const (
	// hiddenJoint is the score from which a wrist or an elbow is believed that an arm across
	// the body half hides, if the other wrist is dim at least, or the other elbow seen.
	hiddenJoint = .1
	// turned is the part of the width of a body from which its elbows are apart that is seen
	// from ahead.
	turned = .25
)

var (
	// acrossCurve is the probability that arms are crossed whose forearms are level, by the
	// sum of the ways of both wrists from their own elbow to the other one, each of length 1:
	// arms that hang make none. In pictures of 12 people with crossed arms it was .32 and .70
	// to 1.07; of 15 others with level forearms at most .53.
	acrossCurve = []Point{{.45, .03}, {.55, .15}, {.65, .60}, {.75, .80}, {.9, .88}, {2, .88}}
	// levelCurve is what is left of it by how far the wrists are beneath the elbows, in
	// torsos: hands hang or rest in a lap beneath them, and hold something above them.
	levelCurve = []Point{{-.6, .05}, {-.4, .4}, {-.25, 1}, {.1, 1}, {.2, .3}, {.35, .04}}
)

// crossingArms: each wrist is beside the other arm's elbow, and the forearms are level.
func crossingArms(b body) fit {
	le, re, lw, rw := b.joints[leftElbow], b.joints[rightElbow], b.joints[leftWrist], b.joints[rightWrist]
	b.bar = hiddenJoint
	wrists := b.seen(leftWrist, rightWrist) && max(lw.Score, rw.Score) >= dimJoint
	elbows := min(le.Score, re.Score) >= hiddenJoint || max(le.Score, re.Score) >= seenJoint
	if !wrists || !elbows {
		return unknownFit
	}
	beneath := (lw.Y + rw.Y - le.Y - re.Y) / 2 / b.torso()
	apart := le.X - re.X
	if math.Abs(apart) < turned*(b.box.X2-b.box.X1) {
		if beneath > .35 {
			return fit{Probability: .03}
		}
		return unknownFit // from the side
	}
	across := (le.X-lw.X)/apart + (rw.X-re.X)/apart
	return fit{Probability: max(.03, interpolate(acrossCurve, across)*interpolate(levelCurve, beneath))}
}
