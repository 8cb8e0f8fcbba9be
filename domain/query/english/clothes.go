package english

import (
	"slices"
	"strings"

	"vqa/domain/query"
	"vqa/domain/query/vocabulary"
)

// clothesActions are the meanings of rules about colors, clothes, and what a thing has with it.
var clothesActions = map[string]func(*args) any{
	// Colors and clothes.
	"shade": func(a *args) any {
		c := a.text("c")
		base := c[strings.LastIndexByte(c, ' ')+1:]
		switch a.text("sh") {
		case "light", "pale":
			return "light " + base
		case "dark", "deep":
			return "dark " + base
		}
		return c
	},
	"colorAnd": func(a *args) any { return a.text("a") + " and " + a.text("b") },
	"colorOr":  func(a *args) any { return a.text("a") + " or " + a.text("b") },
	"wearing": func(a *args) any {
		if g := a.get("g"); g != nil {
			return wear(g)
		}
		return wear(a.get("c"))
	},
	"wearingNot": func(a *args) any {
		p, _ := wear(a.get("c")).(predicate)
		if out, ok := p.not(); ok {
			return out
		}
		return nil
	},
	"garment": func(a *args) any { return garment(a.adjectives(), a.text("n")) },
	"poseAt": func(a *args) any {
		v, _ := a.get("v").(verb)
		p, ok := pose(a.text("b"), v.form).(predicate)
		if !ok {
			return nil
		}
		return p.both(a.predicate("p"))
	},
	"garmentNo": func(a *args) any {
		c, ok := garment(a.adjectives(), a.text("n")).(clothing)
		if !ok {
			return nil
		}
		c.none = true
		return c
	},
	"garment2":  func(a *args) any { return garment(a.adjectives(), a.text("m")+" "+a.text("n")) },
	"colorOnly": func(a *args) any { return clothing{of: []string{a.text("c")}} },
	"clothesOr": func(a *args) any {
		x, y := a.clothing("a"), a.clothing("b")
		if len(x.of) > 1 && !x.either && !x.open {
			return nil
		}
		first, last := x.of[len(x.of)-1], y.of[0]
		_, color := (query.Condition{Kind: query.KindAttribute, Value: first}).Colors()
		if i := strings.LastIndexByte(last, ' '); color && i > 0 && garments[last[i+1:]] != "" {
			first += last[i:]
		}
		return clothing{of: append(append(slices.Clone(x.of[:len(x.of)-1]), first), y.of...), either: true}
	},
	"clothesComma": func(a *args) any {
		x, y := a.clothing("a"), a.clothing("b")
		if x.either || y.either || x.none || y.none || len(x.of) > 1 && !x.open {
			return nil
		}
		return clothing{of: slices.Concat(x.of, y.of), open: true}
	},
	"clothesAnd": func(a *args) any {
		x, y := a.clothing("a"), a.clothing("b")
		if x.either || y.either || x.none || y.none {
			return nil
		}
		return clothing{of: slices.Concat(x.of, y.of)}
	},

	// With and without.
	"with":    func(a *args) any { return having(a.items("w"), false) },
	"without": func(a *args) any { return having(a.items("w"), true) },
	"withNo": func(a *args) any {
		it, ok := itemOf(a, true).(item)
		if !ok {
			return nil
		}
		return having([]item{it}, false)
	},
	"havingOwn": func(a *args) any {
		it, ok := itemOf(a, false).(item)
		it.conditions = append(slices.Clip(it.conditions), marked(query.Identity, "my "+it.noun))
		if !ok || it.garment || it.feature {
			return nil
		}
		return it
	},
	"having1":  func(a *args) any { return itemOf(a, false) },
	"havingNo": func(a *args) any { return itemOf(a, true) },
	"listed":   func(a *args) any { return slices.Concat(a.items("a"), a.items("b")) },
	"withNobody": func(*args) any {
		return predicate{alternatives: nothingMore.alternatives, with: []query.Statement{query.Not{Of: query.Is{Thing: query.Thing{Term: "person"}}}}}
	},
	"named": func(a *args) any {
		return predicate{alternatives: [][]query.Condition{{marked(query.Identity, "named "+a.text("n"))}}}
	},
	"apposed": func(a *args) any {
		return predicate{alternatives: [][]query.Condition{{marked(query.Identity, a.text("n")), {Kind: refused}}}}
	},
}

// having tells clothes, features of a body and things apart.
func having(items []item, without bool) predicate {
	out := nothingMore
	for _, it := range items {
		denied := it.none != without
		switch {
		case it.garment:
			p := alternatives(query.KindAttribute, "wearing ", it.text)
			if denied {
				p, _ = p.not()
			}
			out = out.both(p)
		case it.feature && pose(it.noun, it.adjectives) != nil && !denied:
			out = out.both(pose(it.noun, it.adjectives).(predicate))
		case it.feature || it.quantity != nil && denied:
			p := alternatives(query.KindAttribute, "with ", it.text)
			if denied {
				p, _ = p.not()
			}
			out = out.both(p)
		default:
			thing := query.Thing{Term: it.noun, Conditions: it.conditions}
			var s query.Statement = query.Is{Thing: thing}
			if denied {
				s = query.Not{Of: s}
			} else if it.quantity != nil {
				s = query.Number{Quantity: *it.quantity, Thing: thing}
			}
			out.with = append(out.with, s)
		}
	}
	return out
}

// item is one thing after "with".
type item struct {
	text, noun, adjectives string
	conditions             []query.Condition
	quantity               *query.Quantity
	none, garment, feature bool
}

func itemOf(a *args, none bool) any {
	adj := a.adjectives()
	n := a.text("n")
	it := item{text: strings.TrimSpace(adj.text + " " + n), noun: n, adjectives: adj.text, conditions: adj.conditions, none: none}
	if q, ok := a.get("q").(quantifier); ok {
		it.quantity = q.number
		if q.most > 0 {
			return nil
		}
	}
	last := n[strings.LastIndexByte(n, ' ')+1:]
	it.garment = garments[n] != "" || garments[last] != ""
	if it.garment && adj.text != "?" {
		it.text = garment(adj, n).(clothing).of[0]
	}
	it.feature = body[last] != "" || !vocabulary.Noun(n)
	if len(adj.choices) > 0 && !it.garment || adj.text == "?" {
		return nil
	}
	return it
}

func (a *args) items(label string) []item {
	switch v := a.get(label).(type) {
	case item:
		return []item{v}
	case []item:
		return v
	}
	return nil
}

// wear is a predicate for clothes: each one is "red shirt", or alternatives of it.
func wear(clothes any) any {
	list, _ := clothes.(clothing)
	if list.either {
		var out predicate
		for _, c := range list.of {
			out.alternatives = append(out.alternatives, alternatives(query.KindAttribute, "wearing ", c).alternatives...)
		}
		return out
	}
	out := nothingMore
	for _, c := range list.of {
		out = out.both(alternatives(query.KindAttribute, "wearing ", c))
	}
	if list.none {
		return orNil(out.not())
	}
	return out
}

type clothing struct {
	of []string
	// either is true for alternatives, none for clothes that are not worn.
	either, none bool
	// open is true for a list with only commas so far.
	open bool
}

// garment is clothing with its colors: "red shirt", "red shirt or blue shirt".
func garment(adj adjective, n string) any {
	if adj.text == "?" {
		return nil
	}
	name := n
	if g := garments[n]; g != "" {
		name = g
	}
	var out []string
	for _, alternative := range split(adj.text) {
		out = append(out, strings.TrimSpace(alternative+" "+name))
	}
	return clothing{of: []string{strings.Join(out, " or ")}}
}

func (a *args) clothing(label string) clothing { c, _ := a.get(label).(clothing); return c }
