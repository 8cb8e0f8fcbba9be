package answer

import "vqa/domain/evidence"

// seats are the classes that people and animals sit, lie or ride on.
var seats = map[string]bool{
	"chair": true, "couch": true, "bed": true, "bench": true, "toilet": true, "dining table": true, "bicycle": true, "motorcycle": true,
	"horse": true, "elephant": true, "car": true, "truck": true, "bus": true, "boat": true,
}

// lowSeat is the probability that a sitting person sits on the ground, by the height of the
// hips above the lower foot. The height is in lengths of the torso. A chair is as high as a
// shank.
var lowSeat = []Point{{.2, .85}, {.4, .65}, {.55, .25}, {.7, .05}}

// onGround is the condition that people and animals are on the ground, for a model that
// does not know the ground. There must be no detected seat beneath them. For people who
// sit, the feet must show it too, because the chair is often hidden. For people who stand
// the result is unknown: the question hardly means them.
func onGround(ev evidence.Evidence, cal Calibration) condition {
	return func(s observation) []fit {
		out := make([]fit, len(s.objects))
		for i, o := range s.objects {
			switch {
			case len(o.Keypoints) != evidence.NumKeypoints || o.stance.laid && o.stance.lies > .5:
				out[i] = fit{Probability: .9}
			case o.stance.sits > .5:
				out[i] = body{box: o.Box, joints: o.Keypoints}.low()
			default:
				out[i] = unknownFit
			}
			for _, d := range s.others {
				if d.Term >= 0 && d.Term < len(ev.Terms) && seats[ev.Terms[d.Term]] {
					p := 1 - cal.Probability(d.Score)*on(o.Box, d.Box)
					out[i] = fit{min(out[i].Probability, p), out[i].Unknown && p > .5}
				}
			}
		}
		return out
	}
}

// low is the probability that a sitting body sits on the ground, by the height of its hips
// above its feet.
func (b body) low() fit {
	hips, ok := b.mean(leftHip, rightHip)
	foot, seen := 0., false
	for _, ankle := range []int{leftAnkle, rightAnkle} {
		if b.seen(ankle) {
			foot, seen = max(foot, b.joints[ankle].Y), true
		}
	}
	if !ok || !seen {
		return unknownFit
	}
	return fit{Probability: interpolate(lowSeat, (foot-hips)/b.torso())}
}
