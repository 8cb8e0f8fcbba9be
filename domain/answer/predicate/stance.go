package predicate

import (
	"math"

	"vqa/domain/evidence"
)

// Stance holds the probabilities that a body stands, sits or lies.
type Stance struct {
	Stands, Sits, Lies float64
	// Upright is true when the body shows whether it stands or sits, Laid when it shows whether it lies.
	Upright, Laid bool
}

// tallBox is the height over the width of a box from which its body hardly lies.
const tallBox = 1.4

// StanceOf reads a person's stance from the keypoints, or from the shape of the box if they do not show it.
func StanceOf(d evidence.Detection, aspect float64) Stance {
	b, ok := bodyOf(d)
	if !ok {
		return Stance{}
	}
	for _, bar := range []float64{seenJoint, dimJoint} {
		b.bar = bar
		if s := b.stance(); s.Upright {
			return s
		}
	}
	if b.slender(aspect) {
		return Stance{Stands: .85, Sits: .1, Lies: .03, Upright: true, Laid: true}
	}
	b.bar = seenJoint
	if b.headUp() {
		return Stance{Lies: .03, Laid: true}
	}
	return Stance{Lies: .08, Laid: b.height() > tallBox*aspect*(b.box.X2-b.box.X1)}
}

// stance compares the heights of shoulders, hips, knees and ankles with the length of the torso.
func (b body) stance() Stance {
	known := func(stands, sits, lies float64) Stance { return Stance{stands, sits, lies, true, true} }
	shoulders, okS := b.mean(leftShoulder, rightShoulder)
	hips, okH := b.mean(leftHip, rightHip)
	if !okS || !okH {
		return Stance{}
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
	return Stance{}
}

// postureS is the time to either side over which a posture is the mean, in seconds.
const postureS = .6

// posture is a test of the stance of people.
func posture(of func(Stance) (float64, bool)) Test {
	return Test{
		Read:  func(f Frame, d evidence.Detection) Reading { return reading(of(StanceOf(d, f.Aspect))) },
		Along: lasting(postureS, true),
	}
}
