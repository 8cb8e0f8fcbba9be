package predicate

import "vqa/domain/query"

// In boxes, riding looks like being on a thing.
var riding = Row{
	Kind: query.KindAction, Form: "riding OBJECT", Who: Anything, Object: true,
	Example: "Is a person riding a horse?",
	Phrases: []string{"riding on OBJECT"},
	Bind:    about(atop, "riding", "riding on"),
}
