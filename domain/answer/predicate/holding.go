package predicate

import (
	"vqa/domain/evidence"
	"vqa/domain/query"
)

var holding = Row{
	Kind: query.KindAction, Form: "holding OBJECT", Who: People, Object: true,
	Example: "Is a person holding a phone?",
	Phrases: []string{"carrying OBJECT"},
	Bind:    about(inHand, "holding", "carrying"),
}

// inHand is the probability that a person holds a thing: the thing is smaller and mostly within the box
// of the body, at the height of its arms. It may as well lie in front of the body, so it is never sure.
func inHand(_ Frame, person, thing evidence.Box) float64 {
	h := person.Y2 - person.Y1
	at := ((thing.Y1+thing.Y2)/2 - person.Y1) / h // from the top of the body
	if evidence.Area(thing) > .5*evidence.Area(person) || at < .1 || at > .85 {
		return .04
	}
	return curve{{.1, .04}, {.3, .35}, {.6, .65}, {.9, .75}}.at(evidence.ShareInside(thing, person))
}
