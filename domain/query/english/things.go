package english

import (
	"slices"
	"strings"

	"vqa/domain/query"
	"vqa/domain/query/vocabulary"
)

// noun is a noun with the parts that belong to it.
type noun struct{ term, owner string }

// adjective is what stands before a noun: conditions, or alternatives of one.
type adjective struct {
	conditions, choices []query.Condition
	text                string
}

func (a *args) phrase(label string) phrase {
	p, _ := a.get(label).(phrase)
	return p
}

// things returns one or more noun phrases.
func (a *args) things(label string) phrases {
	switch v := a.get(label).(type) {
	case phrase:
		return phrases{of: []phrase{v}}.clone()
	case phrases:
		return v.clone()
	}
	return phrases{}
}

// clone returns phrases that an action may change: the readings of a span share their parts.
func (x phrases) clone() phrases {
	x.of = slices.Clone(x.of)
	for i := range x.of {
		x.of[i].thing.Conditions = slices.Clip(x.of[i].thing.Conditions)
		x.of[i].with = slices.Clip(x.of[i].with)
	}
	return x
}

func (a *args) predicate(label string) predicate {
	p, ok := a.get(label).(predicate)
	if !ok {
		return nothingMore
	}
	return p
}

func (a *args) list(label string) []any { l, _ := a.get(label).([]any); return l }

// text returns the words of a value: a noun, an object, a constant.
func (a *args) text(label string) string {
	switch v := a.get(label).(type) {
	case string:
		return v
	case noun:
		return v.String()
	}
	return ""
}

func (n noun) String() string {
	if n.owner != "" {
		return n.owner + "'s " + n.term
	}
	return n.term
}

func thing(term string) phrase { return phrase{thing: query.Thing{Term: term}} }

// adjectives returns the conditions of the words before a noun.
func (a *args) adjectives() (out adjective) {
	for _, v := range a.list("a") {
		var adj adjective
		switch v := v.(type) {
		case adjective:
			adj = v
		case string: // colors
			adj.text = v
			for _, c := range split(v) {
				adj.choices = append(adj.choices, query.Condition{Kind: query.KindAttribute, Value: c})
			}
			if len(adj.choices) == 1 {
				adj.conditions, adj.choices = adj.choices, nil
			}
		}
		if len(out.choices) > 0 && len(adj.choices) > 0 || out.colored() && adj.colored() {
			return adjective{text: "?"}
		}
		out.conditions = slices.Concat(out.conditions, adj.conditions)
		out.choices = slices.Concat(out.choices, adj.choices)
		out.text = strings.TrimSpace(out.text + " " + adj.text)
	}
	return out
}

// colored reports whether an adjective is a color.
func (a adjective) colored() bool {
	return slices.ContainsFunc(slices.Concat(a.choices, a.conditions), func(c query.Condition) bool { _, ok := c.Colors(); return ok })
}

// split separates the alternatives of a text: "red or blue", "car or truck".
func split(text string) []string { return strings.Split(text, " or ") }

// property is the condition of an adjective.
func property(w string) query.Condition {
	if size := sizes[w]; size != "" {
		return query.Condition{Kind: query.KindAttribute, Value: size}
	}
	if state := states[w]; state != "" {
		return query.Condition{Kind: query.KindState, Value: state}
	}
	return query.Condition{Kind: query.KindAttribute, Value: w}
}

func adjectiveOf(words ...string) adjective {
	out := adjective{text: strings.Join(words, " ")}
	for _, w := range words {
		out.conditions = append(out.conditions, property(w))
	}
	return out
}

// people are words for kinds of persons.
func isPerson(term string) bool {
	classes, ok := vocabulary.COCO().Lookup(term)
	return ok && slices.Equal(classes, []string{"person"})
}

func isLiving(term string) bool {
	classes, ok := vocabulary.COCO().Lookup(term)
	return ok && (classes[0] == "person" || vocabulary.KindOf(classes[0]) == vocabulary.Animal)
}

// nounPhrase builds the meaning of a noun phrase.
func nounPhrase(a *args) any {
	var p phrase
	switch n := a.get("n").(type) {
	case phrase:
		p = phrases{of: []phrase{n}}.clone().of[0]
	case string:
		p = thing(n)
	case noun:
		p = thing(n.term)
		if n.owner != "" {
			switch {
			case garments[n.term] != "" || body[n.term] != "" || n.term == "color" || n.term == "colour":
				p = thing(n.owner)
				p.part = n.term
			default:
				p.marks = []query.Condition{{Kind: query.KindAttribute, Value: n.owner + "'s"}}
			}
			p.definite = true
		}
	}
	adj := a.adjectives()
	if adj.text == "?" {
		return nil
	}
	if q, ok := a.get("q").(quantifier); ok {
		if p.none || p.which != "" {
			return nil
		}
		if q.number != nil && *q.number == (query.Quantity{Op: query.Equal}) {
			q.number, q.none = nil, true
		}
		q.marks = slices.Concat(q.marks, p.marks)
		q.definite = q.definite || p.definite
		if q.pair && (garments[p.thing.Term] != "" || setOf("scissors skis pliers tongs tweezers binoculars headphones")[p.thing.Term]) {
			q.number = nil // "a pair of scissors" is one
		}
		p.quantifier = q
		if g := garments[p.thing.Term]; q.owner != "" && (g != "" || body[p.thing.Term] != "") {
			p.part, p.thing.Term = p.thing.Term, "person"
		}
	}
	p.thing.Conditions = append(p.thing.Conditions, adj.conditions...)
	p.choices = adj.choices
	for _, v := range a.list("p") {
		if other, ok := v.(otherThan); ok {
			if p.which != "" || p.none || !sameClass(p.thing.Term, other.noun) {
				return nil
			}
			if p.number == nil {
				p.number = atLeast(2).number
			}
			continue
		}
		post, ok := v.(predicate)
		if !ok || !p.add(post) {
			return nil
		}
	}
	return p
}

// otherThan is "besides the man": there are two.
type otherThan struct{ noun string }

func sameClass(a, b string) bool {
	x, ok := vocabulary.COCO().Lookup(a)
	y, _ := vocabulary.COCO().Lookup(b)
	return a == b || ok && slices.Equal(x, y)
}

// add adds what follows a noun. It returns false when the words do not say to which noun it belongs: "a
// man next to a woman in red".
func (p *phrase) add(post predicate) bool {
	if len(post.alternatives) != 1 {
		if len(post.alternatives) == 0 || len(p.choices) > 0 {
			return false
		}
		var last []query.Condition
		for _, alt := range post.alternatives {
			if len(alt) != 1 {
				return false
			}
			last = append(last, alt[0])
		}
		p.choices = last
		return true
	}
	conditions := post.alternatives[0]
	if acts(p.thing.Conditions) && len(post.with) > 0 || unclear(p.thing.Conditions, conditions) ||
		len(p.with) > 0 && len(conditions) > 0 && conditions[0].Kind == query.KindLocation {
		return false
	}
	p.thing.Conditions = append(p.thing.Conditions, conditions...)
	p.with = append(p.with, post.with...)
	return true
}

// unclear reports whether words behind a place may belong to the thing that it names: "next to a man in
// red".
func unclear(before, conditions []query.Condition) bool {
	if len(before) == 0 || len(conditions) == 0 || conditions[0].Kind == query.KindLocation || conditions[0].Kind == mark {
		return false
	}
	place := before[len(before)-1]
	_, object := place.Split()
	return place.Kind == query.KindLocation && object != nil && isLiving(object.Term)
}

// ride returns what a word for a rider means: a cyclist is a person riding a bicycle.
func ride(p *phrase, falls bool) {
	mount := vocabulary.Riding(p.thing.Term)
	if p.thing.Term == "rider" || p.thing.Term == "biker" {
		for i, c := range p.thing.Conditions {
			if on, ok := strings.CutPrefix(c.Value, "on "); ok && tables["mounts"][on] != "" && c.Kind == query.KindLocation {
				p.thing.Term = "person"
				p.thing.Conditions[i] = query.Condition{Kind: query.KindAction, Value: "riding " + on}
			}
		}
	}
	if mount == "" || falls {
		return
	}
	p.thing.Term = "person"
	rides := func(thing string, negated bool) {
		for i, c := range p.thing.Conditions {
			if c.Value == "riding" {
				p.thing.Conditions[i].Value = "riding " + thing
			}
			on, ok := strings.CutPrefix(p.thing.Conditions[i].Value, "riding ")
			if ok && c.Kind == query.KindAction && c.Negated == negated && sameClass(on, thing) {
				return
			}
		}
		p.thing.Conditions = append(p.thing.Conditions, query.Condition{Kind: query.KindAction, Value: "riding " + thing, Negated: negated})
	}
	if mount == "nothing" {
		rides("bicycle", true)
		rides("motorcycle", true)
		return
	}
	rides(mount, false)
}

func (p phrase) quantifierless() bool { return p.number == nil && p.which == "" && !p.none }

// groups are nouns that stand for a number of things.
var groups = setOf("group crowd herd flock bunch pack row team number pair couple lot half most sign kind sort type color colour top bottom left right front back side end edge middle corner " +
	"presence absence lack evidence chance indication trace set part")

// thingActions are the meanings of rules about things and numbers.
var thingActions = map[string]func(*args) any{
	"np": nounPhrase,
	"compound": func(a *args) any {
		m, n := a.text("m"), a.text("n")
		if isLiving(m) && isLiving(n) && vocabulary.Noun(n) && vocabulary.KindOf(m) == vocabulary.Animal {
			return nil // "dog cat"
		}
		return noun{term: m + " " + n}
	},
	"contents": func(a *args) any {
		n, m := a.text("n"), a.text("m")
		switch {
		case groups[n] || groups[m]:
			return nil
		case garments[n] != "" || body[n] != "":
			return noun{n, m}
		}
		return noun{term: n + " of " + m}
	},
	"owned":       func(a *args) any { return noun{a.text("n"), a.text("o")} },
	"ownedPerson": func(a *args) any { return noun{a.text("n"), "person"} },
	"person":      func(*args) any { return thing("person") },
	"thing":       func(*args) any { return thing("thing") },
	"nobody": func(*args) any {
		p := thing("person")
		p.none = true
		return p
	},
	"nothing1": func(*args) any {
		p := thing("thing")
		p.none = true
		return p
	},
	"everyone": func(*args) any {
		p := thing("person")
		p.which = query.AllOf
		return p
	},
	"pronoun": func(*args) any {
		p := thing("person")
		p.pronoun, p.definite = "they", true
		return p
	},
	"pronounIt": func(*args) any {
		p := thing("it")
		p.pronoun, p.definite = "it", true
		return p
	},
	"atLeastAfter": func(a *args) any { return numbered(a, query.AtLeast) },
	"atMostAfter":  func(a *args) any { return numbered(a, query.AtMost) },
	"people": func(a *args) any {
		p := thing("person")
		p.quantifier, _ = a.get("q").(quantifier)
		for _, v := range a.list("p") {
			if post, ok := v.(predicate); !ok || !p.add(post) {
				return nil
			}
		}
		return p
	},

	// Adjectives.
	"adjective":  func(a *args) any { return adjectiveOf(a.text("a")) },
	"adjectives": func(a *args) any { return adjectiveOf(a.text("a"), a.text("b")) },
	"adjSide": func(a *args) any {
		w := a.text("w")
		return adjective{conditions: one(query.KindLocation, w).alternatives[0], text: w}
	},
	"adjIng": func(a *args) any {
		v, _ := a.get("v").(verb)
		return adjective{conditions: action(v.ing, "").alternatives[0], text: v.form}
	},
	"adjOr": func(a *args) any {
		x, y := a.oneAdjective("a"), a.oneAdjective("b")
		if colors[x.text] != "" || colors[y.text] != "" || len(x.conditions) != 1 || len(y.conditions) != 1 {
			return nil
		}
		return adjective{choices: []query.Condition{x.conditions[0], y.conditions[0]}, text: x.text + " or " + y.text}
	},

	// Lists.
	"and":   func(a *args) any { return join(a.things("a"), a.things("b"), false) },
	"or":    func(a *args) any { return join(a.things("a"), a.things("b"), true) },
	"comma": comma,
	"butNo": func(a *args) any { return butNo(a.things("a"), a.things("b")) },
	"noBut": func(a *args) any { return noBut(a.things("a"), a.things("b")) },
	"neither": func(a *args) any {
		x, y := a.things("a"), a.things("b")
		return phrases{of: slices.Concat(x.of, y.of), any: true, none: true}
	},
	"whichOne": func(a *args) any { a.get("a"); a.get("b"); return nil }, //nolint:unparam // has no meaning
}

func (a *args) oneAdjective(label string) adjective {
	switch v := a.get(label).(type) {
	case adjective:
		return v
	case string:
		return adjective{conditions: []query.Condition{{Kind: query.KindAttribute, Value: v}}, text: v}
	}
	return adjective{}
}
