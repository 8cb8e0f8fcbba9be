package predicate

import "vqa/domain/query"

var standing = Row{
	Kind: query.KindAction, Form: "standing", Who: People, Needs: Needs{Pose: true, Seconds: 2 * postureS},
	Example: "Is a person standing?",
	Phrases: []string{"standing still", "standing upright"},
	Bind:    exactly("standing", posture(func(s Stance) (float64, bool) { return s.Stands, s.Upright })),
}
