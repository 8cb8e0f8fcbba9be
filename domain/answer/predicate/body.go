package predicate

import (
	"cmp"
	"math"

	"vqa/domain/evidence"
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

// seenJoint is the score from which a joint is where the model says. A joint from dimJoint on counts if
// its place makes sense.
const seenJoint, dimJoint = .3, .2

// leastBody: joints of people lower than this share of the frame are noise.
const leastBody = 1. / 6

// body is the keypoints of one person, in coordinates of the frame.
type body struct {
	box    evidence.Box
	joints []evidence.Keypoint
	// bar is the score from which a joint counts as seen; 0 means seenJoint.
	bar float64
}

// bodyOf returns the body of a detection; ok is false when its joints are not known.
func bodyOf(d evidence.Detection) (b body, ok bool) {
	b = body{box: d.Box, joints: d.Keypoints}
	return b, len(d.Keypoints) == evidence.NumKeypoints && b.height() >= leastBody
}

// seen reports whether all of some joints are seen. A joint at the edge of the frame is not: the model
// clamps a guess beyond the frame to its edge.
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

// beyond reports whether a joint lies so far outside of the box that it belongs to another person.
func (b body) beyond(k evidence.Keypoint) bool {
	const reach = .15
	dx, dy := reach*(b.box.X2-b.box.X1), reach*b.height()
	return k.X < b.box.X1-dx || k.X > b.box.X2+dx || k.Y < b.box.Y1-dy || k.Y > b.box.Y2+dy
}

// sure reports whether one of some joints is beyond doubt. The model also guesses legs that are cut off
// or hidden, with scores a little above seenJoint.
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

// torso is the height from hips to shoulders, or a third of the box when they are not seen.
func (b body) torso() float64 {
	shoulders, okS := b.mean(leftShoulder, rightShoulder)
	hips, okH := b.mean(leftHip, rightHip)
	if okS && okH && hips-shoulders > .1*b.height() {
		return hips - shoulders
	}
	return b.height() / 3
}

// lean is the horizontal over the vertical extent of the spine: 0 when upright, large when lying.
func (b body) lean() float64 {
	x := (b.joints[leftShoulder].X + b.joints[rightShoulder].X - b.joints[leftHip].X - b.joints[rightHip].X) / 2
	y := (b.joints[leftShoulder].Y + b.joints[rightShoulder].Y - b.joints[leftHip].Y - b.joints[rightHip].Y) / 2
	return math.Abs(x) / max(math.Abs(y), 1e-6)
}

// footing is the length of the longer leg, 0 when neither is visible as a whole. Somebody who lifts a
// knee stands on the other leg.
func (b body) footing(hips float64) float64 {
	longest := 0.0
	for _, leg := range [][2]int{{leftKnee, leftAnkle}, {rightKnee, rightAnkle}} {
		knee, ankle := b.joints[leg[0]], b.joints[leg[1]]
		if b.seen(leg[0], leg[1]) && knee.Y-hips > .35*(ankle.Y-hips) {
			longest = max(longest, ankle.Y-hips)
		}
	}
	return longest
}

// hanging reports whether a straight arm reaches below the hips, which a seat would prevent. An arm on a
// table is bent: its lower half looks short.
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

// slender reports whether the whole body is in the frame and much higher than wide.
func (b body) slender(aspect float64) bool {
	const edge = .01
	whole := b.box.X1 > edge && b.box.X2 < 1-edge && b.box.Y1 > edge && b.box.Y2 < 1-edge
	return whole && b.height() > 2.6*aspect*(b.box.X2-b.box.X1)
}

// headUp reports whether the head is above the shoulders and within their width. It is false for people
// who lie.
func (b body) headUp() bool {
	if !b.seen(leftShoulder, rightShoulder, nose) {
		return false
	}
	l, r, head := b.joints[leftShoulder], b.joints[rightShoulder], b.joints[nose]
	width := math.Abs(l.X - r.X)
	return head.Y < min(l.Y, r.Y) && math.Abs(l.Y-r.Y) < width && math.Abs(head.X-(l.X+r.X)/2) < width
}
