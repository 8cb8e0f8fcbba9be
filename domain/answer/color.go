package answer

import "slices"

// shades are the other names that pixels of a color get in shade, in warm light or on a
// glossy surface. Each has the weight of its share. White in the shade is gray, red in the
// light is orange. A gray object is not white.
var shades = map[string]map[string]float64{
	"black":  {"gray": .15},
	"white":  {"gray": .5, "blue": .4},
	"gray":   {"white": .2, "black": .1},
	"red":    {"orange": .5, "pink": .8},
	"orange": {"red": .4, "yellow": .3, "brown": .3},
	"yellow": {"orange": .4},
	"green":  {"yellow": .35},
	"blue":   {"purple": .4},
	"purple": {"blue": .25, "pink": .4},
	"pink":   {"purple": .4, "red": .25},
	"brown":  {"orange": .4, "red": .15},
}

// colorCurve is the probability that people name a color of an object, by its share of the
// box. It was judged by eye on boxes of the evaluation's clips: a third of a box is
// background and shadow.
var colorCurve = []Point{{0, .02}, {.10, .03}, {.20, .08}, {.30, .25}, {.40, .65}, {.50, .90}, {.70, .96}, {1, .98}}

// twoColors is the same for each of two colors, which share the box.
var twoColors = []Point{{0, .02}, {.08, .10}, {.18, .60}, {.30, .90}, {.50, .96}, {1, .97}}

// colored is the condition on the colors of an object; unknown when the model reports none.
func colored(colors, names []string) condition {
	return byShares(colors, names, colorCurve, twoColors)
}

// byShares is the condition on the share of one color or on the shares of several.
func byShares(colors, names []string, one, more []Point) condition {
	curve := one
	if len(colors) > 1 {
		curve = more
	}
	return perObject(func(d object) fit {
		if len(d.Colors) == 0 || len(d.Colors) != len(names) {
			return fit{Probability: .1, Unknown: true}
		}
		p := 1.0
		for _, c := range colors {
			p = min(p, interpolate(curve, share(c, d.Colors, names)))
		}
		return fit{Probability: p}
	})
}

// share is the share of a box that counts for a color, 0..1.
func share(color string, shares []float32, names []string) float64 {
	of := func(name string) float64 { return shareOf(name, shares, names) }
	own, shaded := ofColor(color, "", shares, names)
	switch {
	case color == "white" || color == "red":
		shaded = min(shaded, sunlit*own) // an object without any white is gray, one without any red is pink
	case color == "blue" && of("gray")+of("white") > own:
		own /= 2 // the sky makes gray objects bluish
	}
	total := own + shaded
	if color != "black" {
		total /= max(1-of("black"), leastLit)
	}
	return min(total, 1)
}

const (
	// sunlit is the largest share of a white object in the shade, by its share in the
	// light.
	sunlit = 1.5
	// leastLit is the least part of a box that shows its color. Windows, tires and the dark
	// side of an object do not show it, unless nearly all of the object is dark.
	leastLit = .6
)

// ofColor is the share of a color in a part of a box, and the weighted share of its shades
// there. The part "" is the whole box.
func ofColor(color, part string, shares []float32, names []string) (own, shaded float64) {
	of := func(name string) float64 { return shareOf(name+part, shares, names) }
	for _, name := range names {
		if weight := shades[color][name]; weight > 0 {
			shaded += weight * of(name)
		}
	}
	return of(color), shaded
}

// shareOf is the share of a name, 0 when the model does not report it.
func shareOf(name string, shares []float32, names []string) float64 {
	if i := slices.Index(names, name); i >= 0 && shares[i] > 0 {
		return min(float64(shares[i]), 1)
	}
	return 0
}
