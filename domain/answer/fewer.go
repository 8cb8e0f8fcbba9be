package answer

import (
	"vqa/domain/evidence"
	"vqa/domain/query"
)

// maxApart is the largest number of groups of conditions that are left out separately.
// Further conditions join the last group, because each group doubles the work.
const maxApart = 4

// surestWithFewer is the least confidence of the answers to q with fewer conditions, 1 when
// it has none. An indeterminate answer does not count. Time conditions are never left out:
// they select the part of the video.
func surestWithFewer(q query.Query, ev evidence.Evidence, cal Calibration) float64 {
	always, apart := conditionsApart(q)
	least := 1.0
	for kept := range 1<<len(apart) - 1 { // all of them together is q itself
		fewer := q
		fewer.Conditions = append([]query.Condition(nil), always...)
		for i, group := range apart {
			if kept&(1<<i) != 0 {
				fewer.Conditions = append(fewer.Conditions, group...)
			}
		}
		if r := decide(fewer, ev, cal); r.Answer != Indeterminate {
			least = min(least, r.Confidence)
		}
	}
	return least
}

// conditionsApart separates the conditions that every variant of q keeps from those that
// can be left out, in groups. Alternative places are one group: leaving out one of them
// would ask for more, not for less.
func conditionsApart(q query.Query) (always []query.Condition, apart [][]query.Condition) {
	places := -1
	for _, c := range q.Conditions {
		alternative := c.Kind == query.KindLocation && q.Operator == query.Any && len(q.Subjects) == 1
		switch n := len(apart); {
		case c.Kind == query.KindTime:
			always = append(always, c)
		case alternative && places >= 0:
			apart[places] = append(apart[places], c)
		case n == maxApart:
			apart[n-1] = append(apart[n-1], c)
		default:
			if alternative {
				places = n
			}
			apart = append(apart, []query.Condition{c})
		}
	}
	return always, apart
}
