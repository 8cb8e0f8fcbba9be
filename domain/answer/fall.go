package answer

import "vqa/domain/query"

const (
	// fallS is the longest time of a fall, in seconds. Lying down takes longer.
	fallS = 1.5
	// stillS is the time after a fall for which the body must stay down, in seconds. The
	// first landS of it belong to the fall.
	stillS = 1
	landS  = .25
)

// fallCurve is the probability that a body fell, by how far its top came down, in its
// height before.
var fallCurve = []Point{{0, noOccurrenceProbability}, {.35, .10}, {.45, .55}, {.6, .85}, {.8, .90}}

// falls finds where a body comes to the ground within fallS and stays there.
func (t Track) falls(aspect float64) []occurrence {
	var found []occurrence
	for b := 1; b < len(t.Points); b++ {
		if slender(t.Points[b], aspect) > flat || !t.stays(b, aspect) {
			continue
		}
		e := t.fell(b, aspect)
		switch n := len(found); {
		case e.probability <= noOccurrenceProbability:
		case n == 0 || e.fromS > found[n-1].toS:
			found = append(found, e)
		case e.probability > found[n-1].probability+tieMargin:
			found[n-1] = e
		}
	}
	return found
}

const (
	// flat is the largest height over the width of a box of a body on the ground. From
	// upright on, the body is not on the ground.
	flat    = .9
	upright = 1.1
	// tieMargin is the difference below which two probabilities count as equal.
	tieMargin = .02
)

// fell is the fall of a body that is down at point b, from where it was upright last and
// about as high as before.
func (t Track) fell(b int, aspect float64) occurrence {
	down := t.Points[b]
	e := occurrence{kind: query.Falling, toS: down.At + landS, probability: noOccurrenceProbability}
	height := 0.
	for a := b - 1; a >= 0 && down.At-t.Points[a].At <= 2*fallS; a-- {
		height = max(height, t.Points[a].Box.Y2-t.Points[a].Box.Y1)
	}
	for a := b - 1; a >= 0 && down.At-t.Points[a].At <= fallS; a-- {
		up := t.Points[a]
		if slender(up, aspect) < upright || down.Box.Y2 < up.Box.Y2-.15*height {
			continue
		}
		if p := interpolate(fallCurve, (down.Box.Y1-up.Box.Y1)/height); p > e.probability/.9 {
			e.fromS, e.probability = up.At, p
		}
	}
	return e
}

// stays reports whether the body is still down for stillS after point b. One frame in four
// may show otherwise: its box may be wrong.
func (t Track) stays(b int, aspect float64) bool {
	up, all := 0, 0
	for _, s := range t.Points[b+1:] {
		if s.At-t.Points[b].At > stillS {
			break
		}
		all++
		if slender(s, aspect) > upright {
			up++
		}
	}
	return 4*up <= all
}

// slender is the height of a box over its width.
func slender(s TrackPoint, aspect float64) float64 {
	return (s.Box.Y2 - s.Box.Y1) / (s.Box.X2 - s.Box.X1) / aspect
}
