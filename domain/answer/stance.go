package answer

import (
	"math"

	"vqa/domain/evidence"
)

// stance holds the probabilities that a body stands, sits or lies.
type stance struct {
	stands, sits, lies float64
	// upright is true when the body shows whether it stands or sits, laid when it shows
	// whether it lies.
	upright, laid bool
}

const (
	// seenJoint is the score from which a joint is where the model says. A joint from
	// dimJoint on counts if its place makes sense.
	seenJoint, dimJoint = .3, .2
	// tallBox is the height over the width of a box from which its body hardly lies.
	tallBox = 1.4
	// carried is the number of samples for which a stance is kept while it cannot be
	// determined.
	carried = 4
	// sameSpot is the intersection over union of the boxes of two samples from which the
	// body has not moved much.
	sameSpot = .3
)

// stanceOf is the stance of a body by its keypoints. Where they do not show it, the shape
// of the box decides.
func stanceOf(b body, aspect float64) stance {
	for _, bar := range []float64{seenJoint, dimJoint} {
		b.bar = bar
		if s := b.stance(); s.upright {
			return s
		}
	}
	if b.slender(aspect) {
		return stance{stands: .85, sits: .1, lies: .03, upright: true, laid: true}
	}
	b.bar = seenJoint
	if b.headUp() {
		return stance{lies: .03, laid: true}
	}
	return stance{lies: .08, laid: b.height() > tallBox*aspect*(b.box.X2-b.box.X1)}
}

// stance compares the heights of shoulders, hips, knees and ankles with the length of the
// torso.
func (b body) stance() stance {
	known := func(stands, sits, lies float64) stance { return stance{stands, sits, lies, true, true} }
	shoulders, okS := b.mean(leftShoulder, rightShoulder)
	hips, okH := b.mean(leftHip, rightHip)
	if !okS || !okH {
		return stance{}
	}
	torso := math.Abs(hips - shoulders)
	if lean := b.lean(); lean > 1.2 && b.box.X2-b.box.X1 > b.height()*.9 {
		return known(.05, .1, .85)
	}
	knees, okK := b.mean(leftKnee, rightKnee)
	ankles, okA := b.mean(leftAnkle, rightAnkle)
	switch {
	case okK && okA && ankles-hips > 1.1*torso && knees-hips > .35*torso:
		return known(.95, .03, .02)
	case b.footing(hips) > 1.2*torso:
		return known(.85, .1, .03)
	case okK && knees-hips > .6*torso:
		return known(.85, .12, .03)
	case okK && knees-hips < .45*torso && b.sure(leftKnee, rightKnee):
		return known(.12, .8, .08)
	case okK && okA && b.sure(leftKnee, rightKnee) && b.sure(leftAnkle, rightAnkle):
		return known(.6, .3, .05) // a squat, or a high stool
	case b.hanging(hips):
		return known(.85, .12, .03)
	case b.box.Y2 < .93 && b.box.Y2-hips < .5*torso:
		// The legs are hidden although the frame goes on below: the body is behind a table.
		return known(.18, .78, .05)
	}
	return stance{}
}

// footing is the length of the longer leg, 0 when neither is visible as a whole. Somebody
// who lifts a knee stands on the other leg.
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

// slender reports whether the whole body is in the frame and much higher than wide.
func (b body) slender(aspect float64) bool {
	const edge = .01
	inside := b.box.X1 > edge && b.box.X2 < 1-edge && b.box.Y1 > edge && b.box.Y2 < 1-edge
	return inside && b.height() > 2.6*aspect*(b.box.X2-b.box.X1)
}

// headUp reports whether the head is above the shoulders and within their width. That is
// never so for somebody who lies.
func (b body) headUp() bool {
	if !b.seen(leftShoulder, rightShoulder, nose) {
		return false
	}
	l, r, head := b.joints[leftShoulder], b.joints[rightShoulder], b.joints[nose]
	width := math.Abs(l.X - r.X)
	return head.Y < min(l.Y, r.Y) && math.Abs(l.Y-r.Y) < width && math.Abs(head.X-(l.X+r.X)/2) < width
}

// stance is the stance at point i of a trail. While the keypoints are hidden, it is that of
// the nearest point at the same place where it was determined.
func (t trail) stance(i int) stance {
	known := t[i].stance
	before, after := i, i
	step := func(at *int, by int) {
		next := *at + by
		if known.upright || next < 0 || next >= len(t) || evidence.IoU(t[*at].Scene, t[next].Scene) < sameSpot {
			return
		}
		if *at = next; t[next].stance.upright {
			known = t[next].stance
		}
	}
	for range carried {
		step(&before, -1)
		step(&after, 1)
	}
	return known
}
