package query

import (
	"slices"
	"strings"
)

// heads are the words before the object of a location, the longest first.
var heads = []string{
	"in front of", "next to", "left of", "right of", "near", "behind", "on", "in", "under", "above", "between", "at",
	"against", "across", "through", "along", "from", "into", "onto", "toward", "outside", "inside", "around",
}

// links are the words between a verb and its object that belong to the verb.
var links = set("at by down from in into of off on onto out over past through to toward under up with away around")

// bare are the last words of an action that name no thing in the picture.
var bare = set("left right top bottom camera hand hands arms")

// Split separates the head of a location or an action from the thing that it names: "next to" and the
// bus of "next to red bus", "riding" and the bicycle of "riding bicycle". object is nil when there is
// none.
func (c Condition) Split() (head string, object *Thing) {
	switch c.Kind {
	case KindLocation:
		for _, h := range heads {
			if rest, ok := strings.CutPrefix(c.Value, h+" "); ok {
				return h, thingOf(rest)
			}
		}
	case KindAction:
		words := strings.Fields(c.Value)
		n := 1
		for n < len(words) && links[words[n]] {
			n++
		}
		if n < len(words) && !bare[words[len(words)-1]] {
			return strings.Join(words[:n], " "), thingOf(strings.Join(words[n:], " "))
		}
	default: // the other kinds name no thing
	}
	return c.Value, nil
}

// thingOf reads an object: its size, its colors and its noun.
func thingOf(text string) *Thing {
	words := strings.Fields(text)
	t := &Thing{}
	for i := len(words) - 1; i > 0; i-- {
		size := Condition{Kind: KindAttribute, Value: strings.Join(words[:i], " ")}
		if _, ok := size.Size(); ok {
			t.Conditions = []Condition{size}
			words = words[i:]
			break
		}
		if _, ok := size.Colors(); ok {
			t.Conditions = []Condition{size}
			words = words[i:]
			break
		}
	}
	t.Term = strings.Join(words, " ")
	return t
}

// Objects are the things that the conditions of a thing name.
func (t Thing) Objects() []Thing {
	var out []Thing
	for _, c := range t.Conditions {
		if _, object := c.Split(); object != nil && !slices.ContainsFunc(out, func(o Thing) bool { return o.Term == object.Term }) {
			out = append(out, *object)
		}
	}
	return out
}
