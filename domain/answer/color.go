package answer

import "slices"

// shades are the names that pixels of a colour also go by in shade, in warm light or
// on a glossy surface, and how much of their share counts for it. White in the shade
// is gray, red in the light is orange; a gray thing is not white.
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

// colourCurve is the probability that people name a colour of an object, by the share
// of its box that has it. By eye on the boxes of the clips: a third of the box is
// background and shadow.
var colourCurve = []Point{{0, .02}, {.10, .03}, {.20, .08}, {.30, .25}, {.40, .65}, {.50, .90}, {.70, .96}, {1, .98}}

// twoColours is the same for each of two colours, which share the box.
var twoColours = []Point{{0, .02}, {.08, .10}, {.18, .60}, {.30, .90}, {.50, .96}, {1, .97}}

// coloured judges by the shares of colours in the box; a model that gives none leaves
// it untold.
func colored(colours, names []string) condition {
	return byShares(colours, names, colourCurve, twoColours)
}

// byShares judges by the share of one colour, or by those of several.
func byShares(colours, names []string, one, more []Point) condition {
	curve := one
	if len(colours) > 1 {
		curve = more
	}
	return perObject(func(d object) fit {
		if len(d.Colors) == 0 || len(d.Colors) != len(names) {
			return fit{Probability: .1, Unknown: true}
		}
		p := 1.0
		for _, c := range colours {
			p = min(p, interpolate(curve, share(c, d.Colors, names)))
		}
		return fit{Probability: p}
	})
}

// share is how much of a box counts for a colour, 0..1.
func share(colour string, shares []float32, names []string) float64 {
	of := func(name string) float64 { return shareOf(name, shares, names) }
	own, shaded := ofColour(colour, "", shares, names)
	switch {
	case colour == "white" || colour == "red":
		shaded = min(shaded, sunlit*own) // what is white nowhere is gray, or pink
	case colour == "blue" && of("gray")+of("white") > own:
		own /= 2 // the sky makes gray things bluish
	}
	total := own + shaded
	if colour != "black" {
		total /= max(1-of("black"), leastLit)
	}
	return min(total, 1)
}

const (
	// sunlit is how much more of a white thing may lie in the shade than in the light.
	sunlit = 1.5
	// leastLit is the part of a box that tells its colour at least: windows, tyres and
	// the dark side of a thing tell nothing, unless nearly all is dark.
	leastLit = .6
)

// ofColour is the share that a colour has of a part of a box, and what its shades there
// count for; the part "" is all of it.
func ofColour(colour, part string, shares []float32, names []string) (own, shaded float64) {
	of := func(name string) float64 { return shareOf(name+part, shares, names) }
	for _, name := range names {
		if weight := shades[colour][name]; weight > 0 {
			shaded += weight * of(name)
		}
	}
	return of(colour), shaded
}

// shareOf is the column of a name, 0 where there is none.
func shareOf(name string, shares []float32, names []string) float64 {
	if i := slices.Index(names, name); i >= 0 && shares[i] > 0 {
		return min(float64(shares[i]), 1)
	}
	return 0
}
