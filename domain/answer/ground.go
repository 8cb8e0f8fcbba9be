package answer

import "vqa/domain/evidence"

// seats are the classes that people and animals sit, lie or ride on.
var seats = map[string]bool{
	"chair": true, "couch": true, "bed": true, "bench": true, "toilet": true, "dining table": true, "bicycle": true, "motorcycle": true,
	"horse": true, "elephant": true, "car": true, "truck": true, "bus": true, "boat": true,
}

// lowSeat is the probability that somebody who sits does so on the ground, by the height
// of the hips over the lower foot, in lengths of the torso: a chair is as high as a shank.
var lowSeat = []Point{{.2, .85}, {.4, .65}, {.55, .25}, {.7, .05}}

// grounded judges people and animals by what they are on, for a model that does not know
// the ground: on nothing else that is seen. Of those who sit the feet must tell: the chair
// is often hidden. Whoever stands there is hardly meant, but is there.
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

// low says how near to its feet a body sits.
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
