package predicate

import (
	"vqa/domain/evidence"
	"vqa/domain/query"
)

var place = Row{
	Kind: query.KindLocation, Form: "left, centre, right, top, middle, bottom, top left, top right, bottom left, bottom right", Who: Anything,
	Example: "Is there a person on the left?",
	Bind: func(c query.Condition) (Test, bool) {
		where, ok := c.Place()
		return Test{Read: func(_ Frame, d evidence.Detection) Reading {
			return reading(min(part(where.Column, (d.Box.X1+d.Box.X2)/2), part(where.Row, (d.Box.Y1+d.Box.Y2)/2)), true)
		}}, ok
	},
}

const (
	// aside: a center beyond this part of the frame is on a side. It is not two thirds, because people say
	// left and right earlier.
	aside = .60
	// blurred is the softness of these borders.
	blurred = .03
)

// part is the probability that a coordinate of a center is in a part of the frame.
func part(of string, x float64) float64 {
	switch of {
	case "left", "top":
		return sigmoid((1 - aside - x) / blurred)
	case "right", "bottom":
		return sigmoid((x - aside) / blurred)
	case "centre", "middle":
		return min(sigmoid((x-1./3)/blurred), sigmoid((2./3-x)/blurred))
	default:
		return 1
	}
}
