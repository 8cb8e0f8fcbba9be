package predicate

import "vqa/domain/query"

var falling = Row{
	Kind: query.KindAction, Form: "falling", Who: People, Needs: Needs{PerSecond: 8, Seconds: fallS + stillS}, Moment: true,
	Example: "Does a person fall?",
	Phrases: []string{"falling down", "falling over"},
	Bind:    exactly("falling", Test{Along: falls}),
}

const (
	// fallS is the longest time of a fall, in seconds. Lying down takes longer.
	fallS = 1.5
	// stillS is the time after a fall for which the body must stay down, in seconds.
	stillS = 1
	// A body on the ground has a box at most flat times as high as wide. From upright on, it stands.
	flat, upright = .9, 1.1
	// tie is the difference below which two probabilities count as equal.
	tie = .02
)

// fallCurve is the probability that a body fell, by how far its top came down, in its height before.
var fallCurve = curve{{0, .03}, {.35, .10}, {.45, .55}, {.6, .85}, {.8, .90}}

// falls finds where a body comes to the ground within fallS and stays there.
func falls(t Track, out []float32) {
	for k := range out {
		out[k] = Unknown
		if t.Len() > 1 {
			out[k] = .03
		}
	}
	for down, end, last := 1, -1, 0.0; down < t.Len(); down++ {
		if t.slender(down) > flat || !t.stays(down) {
			continue
		}
		from, p := t.fell(down)
		if from <= end && p <= last+tie {
			continue // the same fall
		}
		for k := from; k <= down; k++ {
			out[k] = max(out[k], float32(p))
		}
		end, last = down, p
	}
}

// fell returns how probably a body that is down at a point has fallen, and the last point at which it was
// upright and about as high as before.
func (t Track) fell(down int) (from int, p float64) {
	height := 0.0
	for a := down - 1; a >= 0 && t.At(down)-t.At(a) <= 2*fallS; a-- {
		height = max(height, t.height(a))
	}
	from, p = down, .03
	for a := down - 1; a >= 0 && t.At(down)-t.At(a) <= fallS; a-- {
		if t.slender(a) < upright || t.Box(down).Y2 < t.Box(a).Y2-.15*height {
			continue
		}
		if q := fallCurve.at((t.Box(down).Y1 - t.Box(a).Y1) / height); q > p/.9 {
			from, p = a, q
		}
	}
	return from, p
}

// stays reports whether the body is still down for stillS after a point. One frame in four may show
// otherwise: its box may be wrong.
func (t Track) stays(down int) bool {
	up, all := 0, 0
	for k := down + 1; k < t.Len() && t.At(k)-t.At(down) <= stillS; k++ {
		all++
		if t.slender(k) > upright {
			up++
		}
	}
	return 4*up <= all
}

// slender is the height of a box over its width.
func (t Track) slender(k int) float64 {
	b := t.Box(k)
	return (b.Y2 - b.Y1) / (b.X2 - b.X1) / t.Aspect
}
