package predicate

import "vqa/domain/query"

var sitting = Row{
	Kind: query.KindAction, Form: "sitting", Who: People, Needs: Needs{Pose: true, Seconds: 2 * postureS},
	Example: "Is a person sitting?",
	Phrases: []string{"seated"},
	Bind:    exactly("sitting", posture(func(s Stance) (float64, bool) { return s.Sits, s.Upright })),
}
