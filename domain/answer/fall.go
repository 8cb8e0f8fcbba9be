package answer

import "vqa/domain/query"

const (
	// fallS is how long a fall takes at most, in seconds: who lies down takes longer.
	fallS = 1.5
	// stillS is how long one who fell is looked at afterwards, in seconds, and landS what of
	// it belongs to the fall.
	stillS = 1
	landS  = .25
)

// fallCurve is the probability that a body fell, by how far its top came down, in its
// height before.
var fallCurve = []Point{{0, unseen}, {.35, .10}, {.45, .55}, {.6, .85}, {.8, .90}}

// falls finds where a body is on the ground within moments, and stays there.
func (t Track) falls(aspect float64) []event {
	var found []event
	for b := 1; b < len(t.Sights); b++ {
		if slender(t.Sights[b], aspect) > flat || slender(t.Sights[b-1], aspect) <= flat || !t.stays(b, aspect) {
			continue
		}
		e := event{what: query.Falling, toS: t.Sights[b].At + landS}
		for a := b - 1; a >= 0 && t.Sights[b].At-t.Sights[a].At <= fallS; a-- {
			if p := fell(t.Sights[a], t.Sights[b], aspect); p > e.probability+.02 {
				e.fromS, e.probability = t.Sights[a].At, p
			}
		}
		if e.probability > unseen {
			found = append(found, e)
		}
	}
	return found
}

const (
	flat    = .9
	upright = 1.1
)

// fell is the probability that a body fell between two sights.
func fell(a, b Sight, aspect float64) float64 {
	height := a.Box.Y2 - a.Box.Y1
	if slender(a, aspect) < upright || b.Box.Y2 < a.Box.Y2-.15*height {
		return unseen
	}
	return interpolate(fallCurve, (b.Box.Y1-a.Box.Y1)/height)
}

// stays: a body is still down for some time after it fell, as far as it is seen.
func (t Track) stays(b int, aspect float64) bool {
	for _, s := range t.Sights[b+1:] {
		if s.At-t.Sights[b].At > stillS {
			break
		}
		if slender(s, aspect) > upright {
			return false
		}
	}
	return true
}

// slender is the height of a box over its width.
func slender(s Sight, aspect float64) float64 {
	return (s.Box.Y2 - s.Box.Y1) / (s.Box.X2 - s.Box.X1) / aspect
}
