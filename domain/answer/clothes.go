package answer

import (
	"slices"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

// wornCurve is the probability that somebody wears a colour, by the share of the body's
// box that has it: skin, hair and the background have colours too.
var wornCurve = []Point{{0, .02}, {.12, .06}, {.20, .25}, {.28, .60}, {.35, .76}, {.50, .85}, {1, .88}}

// twoWorn is the same for each of two colours.
var twoWorn = []Point{{0, .02}, {.10, .08}, {.18, .35}, {.25, .65}, {.35, .80}, {1, .85}}

// partCurve is the same by the share of the part of the body that a garment covers: of 50
// questions about clothes, most of what was worn had more than half of its part, most of
// what was not less than a quarter.
var partCurve = []Point{{0, .02}, {.20, .06}, {.35, .25}, {.45, .60}, {.55, .78}, {.75, .90}, {1, .93}}

// The quarters of a person's box from the top, as they end the names of colours: "red/2"
// is the share of red in the second (Evidence.Colors). The first is the head.
const second, third, fourth = "/2", "/3", "/4"

const (
	// wholeBody is how much higher than wide the box is of somebody who is seen from head
	// to foot; halfBody that of somebody who is seen down to the hips, or sits.
	wholeBody, halfBody = 2., 1.3
	// cutOff is where the lower end of a box is of somebody whom the frame cuts off.
	cutOff = .97
)

// dressed judges people by the colours of what they wear, in the part of the body where
// it is worn. A model that does not tell the quarters of a body tells of no trousers.
func wearing(colours []string, on query.BodyPart, ev evidence.Evidence) condition {
	quartered := slices.ContainsFunc(colours, func(c string) bool { return slices.Contains(ev.Colors, c+second) })
	switch {
	case !quartered && on == query.LowerBody:
		return perObject(func(object) fit { return unknownFit })
	case !quartered:
		return byShares(colours, ev.Colors, wornCurve, twoWorn)
	}
	return perObject(func(o object) fit {
		if len(o.Colors) != len(ev.Colors) {
			return unknownFit
		}
		w := worn{colours, o.Colors, ev.Colors}
		tall := (o.Box.Y2 - o.Box.Y1) / ((o.Box.X2 - o.Box.X1) * ev.AspectRatio())
		if on == query.LowerBody {
			return w.below(tall, o.Box.Y2)
		}
		return fit{Probability: w.above(tall, on)}
	})
}

// worn are colours that are asked for and what a box shows.
type worn struct {
	colours []string
	shares  []float32
	names   []string
}

// below judges the legs, of which nothing is told where they are cut off.
func (w worn) below(tall, bottom float64) fit {
	switch {
	case tall >= wholeBody:
		return fit{Probability: w.fits(partCurve, third, fourth)}
	case tall >= halfBody && bottom < cutOff:
		return fit{Probability: w.fits(partCurve, fourth)}
	}
	return unknownFit
}

// above judges the trunk, or all that is worn.
func (w worn) above(tall float64, on query.BodyPart) float64 {
	whole := w.fits(wornCurve, "")
	switch {
	case on == query.WholeBody:
		return max(whole, w.fits(partCurve, second, third), w.fits(partCurve, third, fourth))
	case tall >= wholeBody:
		return w.fits(partCurve, second)
	case tall >= halfBody:
		return max(whole, w.fits(partCurve, second), w.fits(partCurve, third))
	}
	return max(whole, w.fits(partCurve, third, fourth))
}

// fits is how probable it is that all colours are worn, by their mean shares in some parts
// of the box. Shades count no more than the colour itself: what is red nowhere is no red
// shirt.
func (w worn) fits(curve []Point, parts ...string) float64 {
	if len(w.colours) > 1 {
		curve = twoWorn
	}
	p := 1.0
	for _, c := range w.colours {
		sum := 0.0
		for _, part := range parts {
			own, shaded := ofColour(c, part, w.shares, w.names)
			sum += min(own+min(shaded, own), 1)
		}
		p = min(p, interpolate(curve, sum/float64(len(parts))))
	}
	return p
}
