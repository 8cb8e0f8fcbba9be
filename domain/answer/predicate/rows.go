package predicate

import "vqa/domain/query"

// Rows are all predicates, in the order in which a condition is looked up.
var Rows = []Row{
	color, clothes, size, place,
	ground, nextTo, leftOf, rightOf, on, inFrontOf, behind, in, under, riding, holding,
	sitting, standing, lying, raisingHand, crossingArms,
	walking, running, moving, jumping, falling, entering, leaving,
}

// Find returns the predicate of a condition about objects of some classes. ok is false when there is
// none.
func Find(c query.Condition, classes []string) (r Row, t Test, ok bool) {
	for _, r := range Rows {
		if r.Kind == c.Kind && r.Who.Fits(classes) {
			if t, ok := r.Bind(c); ok {
				return r, t, true
			}
		}
	}
	return Row{}, Test{}, false
}
