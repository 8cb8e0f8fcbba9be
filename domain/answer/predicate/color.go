package predicate

import (
	"slices"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

var color = Row{
	Kind: query.KindAttribute, Form: "COLORS", Who: Anything, Needs: Needs{Colors: true},
	Example: "Is there a red car?",
	Bind: func(c query.Condition) (Test, bool) {
		colors, ok := c.Colors()
		return Test{
			Read:  func(f Frame, d evidence.Detection) Reading { return reading(support(f, d, colors, ""), f.colored(d)) },
			Along: bestLit,
		}, ok
	},
}

// colorCurve maps a color's share of the box to the probability that people name that color.
var colorCurve = curve{{0, .02}, {.1, .08}, {.2, .35}, {.3, .65}, {.45, .88}, {.7, .95}, {1, .97}}

const (
	// leastColored: boxes with a smaller share of the frame have noisy colors.
	leastColored = .0008
	// lit is a quantile over a track's surest frames. It is high because shade hides a color that light
	// shows.
	lit = .7
	// judged is the number of frames in which it is judged.
	judged = 8
)

// colored reports whether a detection shows colors at all.
func (f Frame) colored(d evidence.Detection) bool {
	return len(d.Colors) > 0 && len(d.Colors) == len(f.Colors) && evidence.Area(d.Box) >= leastColored
}

// support returns the smallest share among the asked colors in a part of the box. When several colors are
// asked, each needs less of the box.
func support(f Frame, d evidence.Detection, colors []string, parts ...string) float64 {
	if len(d.Colors) != len(f.Colors) {
		return 0
	}
	of := func(name string) float64 {
		sum := 0.0
		for _, part := range parts {
			if i := slices.Index(f.Colors, name+part); i >= 0 && d.Colors[i] > 0 {
				sum += min(float64(d.Colors[i]), 1)
			}
		}
		return sum / float64(len(parts))
	}
	least := 1.0
	for _, c := range colors {
		s := of(c)
		if c != "black" { // windows, tires and the dark side of an object do not show its color
			s /= max(1-.8*of("black"), .5)
		}
		if len(colors) > 1 {
			s *= 1.8
		}
		least = min(least, s)
	}
	return least
}

// bestLit gives all points of a track the same probability. The larger of the two numbers of a reading
// counts.
func bestLit(t Track, out []float32) {
	best, some := 0.0, false
	for part := range 2 {
		var shares []float64
		for _, k := range t.surest(judged) {
			if s := t.Reading(k)[part]; known(s) {
				shares = append(shares, float64(s))
			}
		}
		if len(shares) > 0 {
			best, some = max(best, quantile(shares, lit)), true
		}
	}
	p := Unknown
	if some {
		p = float32(colorCurve.at(best))
	}
	for k := range out {
		out[k] = p
	}
}

// quantile of at least one number, linear between neighbors.
func quantile(x []float64, q float64) float64 {
	slices.Sort(x)
	at := q * float64(len(x)-1)
	i := int(at)
	if i+1 >= len(x) {
		return x[len(x)-1]
	}
	return x[i] + (at-float64(i))*(x[i+1]-x[i])
}
