package predicate

import "vqa/domain/query"

var lying = Row{
	Kind: query.KindAction, Form: "lying", Who: People, Needs: Needs{Pose: true, Seconds: 2 * postureS},
	Example: "Is a person lying down?",
	Phrases: []string{"lying flat"},
	Bind:    exactly("lying", posture(func(s Stance) (float64, bool) { return s.Lies, s.Laid })),
}
