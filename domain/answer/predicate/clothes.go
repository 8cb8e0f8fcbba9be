package predicate

import (
	"slices"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

var clothes = Row{
	Kind: query.KindAttribute, Form: "wearing COLORS [ITEM]", Who: People, Needs: Needs{Colors: true},
	Example: "Is a person wearing a blue jacket?",
	Bind: func(c query.Condition) (Test, bool) {
		colors, on, ok := c.Worn()
		return Test{Read: func(f Frame, d evidence.Detection) Reading { return worn(f, d, colors, on) }, Along: bestLit}, ok
	},
}

const (
	// wholeBody is the height over the width of the box of a person who is visible from head to foot.
	// halfBody is that of a person who is visible down to the hips, or sits.
	wholeBody, halfBody = 2., 1.3
	// cutOff is the lower end of a box from which the frame cuts off the body.
	cutOff = .97
)

// worn reads the shares of colors on the trunk and on the legs. The columns name the quarters of a
// person's box from the top: "red/2" is the share of red in the second.
func worn(f Frame, d evidence.Detection, colors []string, on query.BodyPart) Reading {
	none := Reading{Unknown, Unknown}
	if !f.colored(d) {
		return none
	}
	if !slices.Contains(f.Colors, colors[0]+"/2") { // clothes take about two thirds of a body
		return reading(1.5*support(f, d, colors, ""), on != query.LowerBody)
	}
	tall := (d.Box.Y2 - d.Box.Y1) / ((d.Box.X2 - d.Box.X1) * f.Aspect)
	trunk, legs := float32(support(f, d, colors, "/2")), Unknown
	if tall < halfBody { // the head takes more of the box
		trunk = float32(support(f, d, colors, "/3", "/4"))
	}
	switch {
	case tall >= wholeBody:
		legs = float32(support(f, d, colors, "/3", "/4"))
	case tall >= halfBody && d.Box.Y2 < cutOff:
		legs = float32(support(f, d, colors, "/4"))
	}
	switch on {
	case query.UpperBody:
		return Reading{trunk, Unknown}
	case query.LowerBody:
		return Reading{Unknown, legs}
	default:
		return Reading{trunk, legs}
	}
}
