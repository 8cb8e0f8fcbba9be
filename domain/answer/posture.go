package answer

import (
	"cmp"
	"math"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

// These are the joints of a body in COCO order.
const (
	nose                        = 0
	leftShoulder, rightShoulder = 5, 6
	leftElbow, rightElbow       = 7, 8
	leftWrist, rightWrist       = 9, 10
	leftHip, rightHip           = 11, 12
	leftKnee, rightKnee         = 13, 14
	leftAnkle, rightAnkle       = 15, 16
)

// background is the area of a body, by that of the largest in the frame, below which it
// belongs to the background. Its joints are too small to see, and questions are not about
// it.
const background = .2

// body is the keypoints of one person, in coordinates of the frame.
type body struct {
	box    evidence.Box
	joints []evidence.Keypoint
	// bar is the score from which a joint counts as seen; 0 means seenJoint.
	bar float64
}

// seen reports whether all of some joints are seen. A joint at the edge of the frame is
// not: the model clamps a guess beyond the frame to its edge.
func (b body) seen(joint ...int) bool {
	const edge = .01
	bar := cmp.Or(b.bar, seenJoint)
	for _, j := range joint {
		k := b.joints[j]
		if !(k.Score >= bar) || !(k.X > edge && k.X < 1-edge && k.Y > edge && k.Y < 1-edge) || b.beyond(k) {
			return false
		}
	}
	return true
}

// beyond reports whether a joint lies so far outside of the box that it belongs to another
// person.
func (b body) beyond(k evidence.Keypoint) bool {
	const reach = .15
	dx, dy := reach*(b.box.X2-b.box.X1), reach*b.height()
	return k.X < b.box.X1-dx || k.X > b.box.X2+dx || k.Y < b.box.Y1-dy || k.Y > b.box.Y2+dy
}

// sure reports whether one of some joints is beyond doubt. The model also guesses legs that
// are cut off or hidden, with scores a little above seenJoint.
func (b body) sure(joint ...int) bool {
	for _, j := range joint {
		if b.joints[j].Score >= seenJoint+.15 && b.seen(j) {
			return true
		}
	}
	return false
}

// mean is the mean height of the joints that are seen; ok is false when none is.
func (b body) mean(joint ...int) (y float64, ok bool) {
	n := 0.0
	for _, j := range joint {
		if b.seen(j) {
			y += b.joints[j].Y
			n++
		}
	}
	return y / n, n > 0
}

func (b body) height() float64 { return b.box.Y2 - b.box.Y1 }

// inPosture is the condition that a person has a posture.
func inPosture(p query.Posture, cal Calibration) condition {
	judge := map[query.Posture]func(object) fit{
		query.Standing:     func(o object) fit { return fitOf(o.stance.stands, o.stance.upright) },
		query.Sitting:      func(o object) fit { return fitOf(o.stance.sits, o.stance.upright) },
		query.Lying:        func(o object) fit { return fitOf(o.stance.lies, o.stance.laid) },
		query.RaisingHand:  func(o object) fit { return raisingHand(body{box: o.Box, joints: o.Keypoints}) },
		query.CrossingArms: func(o object) fit { return crossingArms(body{box: o.Box, joints: o.Keypoints}) },
	}[p]
	return func(s observation) []fit {
		largest := 0.0
		for _, o := range s.objects {
			if o.Score >= cal.Threshold {
				largest = max(largest, evidence.Area(o.Box))
			}
		}
		out := make([]fit, len(s.objects))
		for i, o := range s.objects {
			if len(o.Keypoints) != evidence.NumKeypoints || !(o.Box.Y2 > o.Box.Y1) {
				out[i] = fit{Probability: .1, Unknown: o.Score >= cal.Threshold}
			} else {
				out[i] = judge(o)
			}
			if evidence.Area(o.Box) < background*largest {
				out[i].Unknown = false
			}
		}
		return out
	}
}

func fitOf(p float64, ok bool) fit {
	if !ok {
		return unknownFit
	}
	return fit{Probability: p}
}

var unknownFit = fit{Probability: .1, Unknown: true}

// raisingHand checks for a wrist above its elbow and above the shoulder, or little below
// it. Arms that are not seen are rarely raised.
func raisingHand(b body) fit {
	shoulders, ok := b.mean(leftShoulder, rightShoulder)
	if !ok {
		return unknownFit
	}
	reach := b.torso()
	best := 0.04
	for _, side := range [][3]int{{leftShoulder, leftElbow, leftWrist}, {rightShoulder, rightElbow, rightWrist}} {
		elbow, wrist := b.joints[side[1]], b.joints[side[2]]
		if !b.seen(side[1], side[2]) || !(wrist.Y < elbow.Y) {
			continue
		}
		over := (shoulders - wrist.Y) / reach // in torsos above the shoulder line
		switch {
		case over > 0:
			best = max(best, .93)
		case over > -.15:
			best = max(best, .84)
		case over > -.3:
			best = max(best, .55)
		}
	}
	return fit{Probability: best}
}

// torso is the height from hips to shoulders, or a third of the box when they are not seen.
func (b body) torso() float64 {
	shoulders, okS := b.mean(leftShoulder, rightShoulder)
	hips, okH := b.mean(leftHip, rightHip)
	if okS && okH && hips-shoulders > .1*b.height() {
		return hips - shoulders
	}
	return b.height() / 3
}

// lean is the horizontal over the vertical extent of the spine: 0 when upright, large when
// lying.
func (b body) lean() float64 {
	x := (b.joints[leftShoulder].X + b.joints[rightShoulder].X - b.joints[leftHip].X - b.joints[rightHip].X) / 2
	y := (b.joints[leftShoulder].Y + b.joints[rightShoulder].Y - b.joints[leftHip].Y - b.joints[rightHip].Y) / 2
	return math.Abs(x) / max(math.Abs(y), 1e-6)
}

// hanging reports whether a straight arm reaches below the hips, which a seat would
// prevent. An arm on a table is bent: its lower half looks short.
func (b body) hanging(hips float64) bool {
	for _, side := range [][3]int{{leftShoulder, leftElbow, leftWrist}, {rightShoulder, rightElbow, rightWrist}} {
		shoulder, elbow, wrist := b.joints[side[0]], b.joints[side[1]], b.joints[side[2]]
		if b.seen(side[0], side[1], side[2]) && wrist.Y > hips &&
			elbow.Y > shoulder.Y && wrist.Y-elbow.Y > .7*(elbow.Y-shoulder.Y) {
			return true
		}
	}
	return false
}
