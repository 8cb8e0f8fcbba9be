package answer

import (
	"slices"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

// wornCurve is the probability that a person wears a color, by its share of the body's box.
// Skin, hair and the background have colors too.
var wornCurve = []Point{{0, .02}, {.12, .06}, {.20, .25}, {.28, .60}, {.35, .76}, {.50, .85}, {1, .88}}

// twoWorn is the probability that a person wears two colors, by the share of each.
var twoWorn = []Point{{0, .02}, {.10, .08}, {.18, .35}, {.25, .65}, {.35, .80}, {1, .85}}

// partCurve is the probability that a garment has a color, by its share of the part of the
// body that the garment covers. In 50 questions about clothes, most worn colors had more
// than half of their part, most others less than a quarter.
var partCurve = []Point{{0, .02}, {.20, .06}, {.35, .25}, {.45, .60}, {.55, .78}, {.75, .90}, {1, .93}}

// These suffixes name the quarters of a person's box from the top: "red/2" is the share of
// red in the second (Evidence.Colors). The first is the head.
const second, third, fourth = "/2", "/3", "/4"

const (
	// wholeBody is the height over the width of the box of a person who is visible from
	// head to foot. halfBody is that of a person who is visible down to the hips, or sits.
	wholeBody, halfBody = 2., 1.3
	// cutOff is the lower end of a box from which the frame cuts off the body.
	cutOff = .97
)

// wearing is the condition on the colors of clothes, in the part of the body where they are
// worn. When the model does not report quarters of a body, the colors of trousers are
// unknown.
func wearing(colors []string, on query.BodyPart, ev evidence.Evidence) condition {
	quartered := slices.ContainsFunc(colors, func(c string) bool { return slices.Contains(ev.Colors, c+second) })
	switch {
	case !quartered && on == query.LowerBody:
		return perObject(func(object) fit { return unknownFit })
	case !quartered:
		return byShares(colors, ev.Colors, wornCurve, twoWorn)
	}
	return perObject(func(o object) fit {
		if len(o.Colors) != len(ev.Colors) {
			return unknownFit
		}
		w := worn{colors, o.Colors, ev.Colors}
		tall := (o.Box.Y2 - o.Box.Y1) / ((o.Box.X2 - o.Box.X1) * ev.AspectRatio())
		if on == query.LowerBody {
			return w.below(tall, o.Box.Y2)
		}
		return fit{Probability: w.above(tall, on)}
	})
}

// worn holds the requested colors and the colors of a box.
type worn struct {
	colors []string
	shares []float32
	names  []string
}

// below is the fit of the colors on the legs; unknown when the legs are cut off.
func (w worn) below(tall, bottom float64) fit {
	switch {
	case tall >= wholeBody:
		return fit{Probability: w.fits(partCurve, third, fourth)}
	case tall >= halfBody && bottom < cutOff:
		return fit{Probability: w.fits(partCurve, fourth)}
	}
	return unknownFit
}

// above is the probability of the colors on the trunk or, for WholeBody, anywhere.
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

// fits is the probability that all colors are worn, by their mean shares in some parts of
// the box. Shades of a color count at most as much as the color itself: a shirt without any
// red is not a red shirt.
func (w worn) fits(curve []Point, parts ...string) float64 {
	if len(w.colors) > 1 {
		curve = twoWorn
	}
	p := 1.0
	for _, c := range w.colors {
		sum := 0.0
		for _, part := range parts {
			own, shaded := ofColor(c, part, w.shares, w.names)
			sum += min(own+min(shaded, own), 1)
		}
		p = min(p, interpolate(curve, sum/float64(len(parts))))
	}
	return p
}
