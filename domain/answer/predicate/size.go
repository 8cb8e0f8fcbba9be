package predicate

import (
	"vqa/domain/evidence"
	"vqa/domain/query"
)

var size = Row{
	Kind: query.KindAttribute, Form: "big, small", Who: Anything,
	Example: "Is there a big dog?",
	Bind: func(c query.Condition) (Test, bool) {
		s, ok := c.Size()
		by := bigCurve
		if s == query.Small {
			by = smallCurve
		}
		return Test{Read: func(_ Frame, d evidence.Detection) Reading { return reading(by.at(evidence.Area(d.Box)), true) }}, ok
	},
}

// These are the probabilities that people call an object big or small, by its share of the frame.
var (
	bigCurve   = curve{{0, .02}, {.06, .05}, {.12, .30}, {.20, .70}, {.35, .93}, {1, .97}}
	smallCurve = curve{{0, .97}, {.01, .90}, {.03, .50}, {.06, .20}, {.12, .05}, {1, .02}}
)
