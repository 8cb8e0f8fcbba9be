package english

import (
	"slices"
	"strings"

	"vqa/domain/query"
	"vqa/domain/query/vocabulary"
)

// alternatives makes a predicate of the alternatives in a text.
func alternatives(kind query.Kind, before, text string) predicate {
	var out predicate
	for _, value := range split(text) {
		out.alternatives = append(out.alternatives, []query.Condition{{Kind: kind, Value: before + value}})
	}
	return out
}

// relation is a place next to, on or behind another thing.
func relation(rel string, o object) any {
	switch {
	case o.text == "", rel == "on" && o.text == "fire", (rel == "near" || rel == "next to") && o.text == "camera", strings.HasSuffix(rel, "t of") && tables["media"][o.text] != "", tables["media"][o.text] != "" && o.marks == nil && setOf("in on at from of near")[rel]:
		return nil // the grammar drops "in the video"
	case rel == "in front of" && o.text == "camera", rel == "in" && o.text == "air":
		return nothingMore
	case o.marks == nil && (rel == "in" || rel == "on" || rel == "at" || rel == "along") && tables["scenes"][o.text] != "":
		// The scene of the video: "in the room".
		return nothingMore
	}
	if rel == "on" && o.text == "horseback" {
		return one(query.KindAction, "riding horse")
	}
	if setOf("beginning start end middle time top bottom center")[o.text] {
		return nil // not a place
	}
	if last := o.text[strings.LastIndexByte(o.text, ' ')+1:]; rel == "in" && garments[last] != "" {
		return nil // worn
	}
	if rel == "in" && tables["seats"][o.text] != "" {
		rel = "on"
	}
	p := alternatives(query.KindLocation, rel+" ", o.text)
	for i := range p.alternatives {
		p.alternatives[i] = slices.Concat(p.alternatives[i], o.marks)
	}
	return p
}

// noPlace are the sides of the frame in their normal form.
var sidesOf = map[string]string{
	"center": "centre", "middle": "centre", "central": "centre", "upper": "top", "lower": "bottom", "left-hand": "left", "right-hand": "right",
	"leftmost": "left", "rightmost": "right", "uppermost": "top", "lowermost": "bottom",
}

func side(w string) string {
	if normal := sidesOf[w]; normal != "" {
		return normal
	}
	return w
}

func sides(vertical, horizontal string) any {
	vertical, horizontal = side(vertical), side(horizontal)
	if horizontal == "centre" {
		return vertical
	}
	return vertical + " " + horizontal
}

// pose reads a pose as a noun: "with the arms crossed", "a hand up".
func pose(part, form string) any {
	switch part = vocabulary.Singular(part); {
	case part == "arm" && (form == "crossed" || form == "folded"):
		return one(query.KindAction, "crossing arms")
	case (part == "hand" || part == "arm") && (form == "raised" || form == "up" || form == "lifted"):
		return one(query.KindAction, "raising hand")
	}
	return nil
}

// alike reports whether two things go together in a choice: "riding a bike or a horse", but not "a cat on
// the couch or a dog".
func alike(a, b string) bool {
	last := func(s string) string {
		if _, ok := vocabulary.COCO().Lookup(s); ok {
			return s
		}
		return s[strings.LastIndexByte(s, ' ')+1:]
	}
	a, b = last(a), last(b)
	kind := func(w string) vocabulary.Kind {
		if k := vocabulary.KindOf(vocabulary.Singular(w)); k != vocabulary.Big {
			return k
		}
		return vocabulary.Small
	}
	return tables["mounts"][a] != "" && tables["mounts"][b] != "" || kind(a) == kind(b)
}

// colored reports whether a predicate is only a color.
func (p predicate) colored() bool {
	return !slices.ContainsFunc(p.alternatives, func(a []query.Condition) bool {
		if len(a) != 1 {
			return true
		}
		_, ok := a[0].Colors()
		return !ok
	})
}

// acts reports whether a predicate ends with an action.
func (p predicate) acts() bool {
	return len(p.alternatives) > 0 && acts(p.alternatives[0])
}

func acts(conditions []query.Condition) bool {
	return slices.ContainsFunc(conditions, func(c query.Condition) bool { return c.Kind == query.KindAction })
}

// lastAction is the last action of a list that has one.
func lastAction(conditions []query.Condition) string {
	action := "?"
	for _, c := range conditions {
		if c.Kind == query.KindAction {
			action = c.Value
		}
	}
	return action
}

// objectOf is the meaning of an object with its adjectives.
func objectOf(a *args) any {
	adj, n := a.adjectives(), a.text("n")
	if adj.text == "?" {
		return nil
	}
	var out []string
	for _, alternative := range split(adj.text) {
		out = append(out, strings.TrimSpace(alternative+" "+n))
	}
	return object{text: strings.Join(out, " or ")}
}

// doing is the verb of a noun: "do a jump".
func doing(n string) any {
	base, ok := vocabulary.BaseVerb(n, vocabulary.Base)
	if !ok {
		return nil
	}
	return action(vocabulary.GerundOf(base), "")
}

// passive is the predicate of a participle. "parked" and "seated" are what a thing does itself.
func passive(a *args) any {
	v, _ := a.get("v").(verb)
	place, part, by := nothingMore, a.text("pa"), a.object("by")
	for _, x := range a.list("p") {
		if x, ok := x.(predicate); ok {
			place = place.both(x)
		}
	}
	if state := states[v.form]; state != "" && part == "" && by.text == "" {
		return one(query.KindState, state).both(place)
	}
	if v.form == "seated" {
		return one(query.KindAction, "sitting").both(place)
	}
	value := strings.Join(strings.Fields("being "+v.form+" "+part), " ")
	if by.text != "" {
		value += " by " + by.text
	}
	return one(query.KindAction, value).both(place)
}

// predicateActions build conditions: actions, places, colors, clothes.
var predicateActions = map[string]func(*args) any{
	"nothing": func(*args) any { return nothingMore },
	"both": func(a *args) any {
		x, y := a.predicate("a"), a.predicate("b")
		if x.colored() && y.colored() {
			return nil // "red and white" is one color
		}
		return x.both(y)
	},
	"bothClose": func(a *args) any {
		x, y := a.predicate("a"), a.predicate("b")
		before := x.alternatives[len(x.alternatives)-1]
		if x.acts() && len(y.with) > 0 && !moves(strings.Fields(lastAction(before))[0]) ||
			len(before) > 0 && before[len(before)-1].Negated || unclear(before, y.alternatives[0]) {
			return nil
		}
		return x.both(y)
	},
	"turning": func(a *args) any { return alternatives(query.KindAction, "turning ", a.text("c")) },
	"choice": func(a *args) any {
		x, y := a.predicate("a"), a.predicate("b")
		if len(x.with)+len(y.with) > 0 {
			return nil
		}
		return predicate{alternatives: slices.Concat(x.alternatives, y.alternatives)}
	},
	"neitherPred": func(a *args) any {
		x, ok := a.predicate("a").not()
		y, also := a.predicate("b").not()
		return orNil(x.both(y), ok && also)
	},
	"not": func(a *args) any {
		p := a.predicate("x")
		if v := a.get("vp"); v != nil {
			p, _ = v.(predicate)
		}
		if v := a.get("p"); v != nil {
			p, _ = v.(predicate)
		}
		if out, ok := p.not(); ok && !p.empty() {
			return out
		}
		return nil
	},
	"butNot": func(a *args) any {
		out, ok := a.predicate("b").not()
		if !ok {
			return nil
		}
		return a.predicate("a").both(out)
	},
	"attribute": func(a *args) any {
		w := a.text("a")
		return predicate{alternatives: [][]query.Condition{{property(w)}}}
	},
	"color":      func(a *args) any { return alternatives(query.KindAttribute, "", a.text("c")) },
	"madeOf":     func(a *args) any { return one(query.KindAttribute, a.text("n")) },
	"older":      func(a *args) any { a.get("c"); return nil }, //nolint:unparam // has no meaning
	"state":      func(a *args) any { return one(query.KindState, states[a.text("x")]) },
	"burning":    func(*args) any { return one(query.KindState, "burning") },
	"upsideDown": func(*args) any { return one(query.KindState, "upside down") },

	// Actions.
	"act": func(a *args) any {
		v, _ := a.get("v").(verb)
		return act(v, a.object("o"), a.text("pa"), a.list("pp"))
	},
	"act2": func(a *args) any {
		v, _ := a.get("v").(verb)
		adverb := a.text("adv")
		if adverb == "together" || adverb == "alone" {
			adverb = ""
		}
		return act(v, object{text: adverb}, "", nil)
	},
	"actEither": func(a *args) any {
		v, _ := a.get("v").(verb)
		x, _ := act(v, object{}, a.text("pa"), nil).(predicate)
		y, _ := act(v, object{}, a.text("pb"), nil).(predicate)
		return predicate{alternatives: slices.Concat(x.alternatives, y.alternatives)}
	},
	"give": func(a *args) any {
		v, _ := a.get("v").(verb)
		return act(v, object{text: a.object("to2").text + " to " + a.object("o").text}, "", nil)
	},
	"doing":   func(a *args) any { return doing(a.text("n")) },
	"passive": passive,
	"pose": func(a *args) any {
		v, _ := a.get("v").(verb)
		return pose(a.text("b"), v.form)
	},
	"posed": func(a *args) any { return pose(a.text("b"), a.text("pa")) },
	"verbPP": func(a *args) any {
		o := a.object("o")
		if len(o.marks) > 0 || strings.Contains(o.text, " or ") {
			return nil
		}
		return behind(a.text("p") + " " + o.text)
	},
	"fromSide":   func(a *args) any { return towards(" from " + a.text("x")) },
	"acrossTo":   func(a *args) any { return towards(" toward " + a.text("b") + strings.Repeat(" ", 0*len(a.text("a")))) },
	"towardSide": func(a *args) any { return towards(" toward " + a.text("x")) },
	"withObj":    func(a *args) any { return a.object("o") },

	// Objects.
	"obj": objectOf,
	"objOwn": func(a *args) any {
		o, ok := objectOf(a).(object)
		if !ok {
			return nil
		}
		o.marks = []query.Condition{marked(query.Identity, "my "+o.text)}
		return o
	},
	"objs": func(a *args) any {
		adj := a.adjectives()
		n := a.int("q")
		word := ""
		for w, v := range numberWords {
			if v == n {
				word = w
			}
		}
		if n < 2 || word == "" {
			return nil
		}
		return object{text: strings.Join(strings.Fields(word+" "+adj.text+" "+a.text("n")), " ")}
	},
	"objOr": func(a *args) any {
		x, y := a.object("a"), a.object("b")
		if !alike(x.text, y.text) {
			return nil
		}
		return object{text: x.text + " or " + y.text, marks: slices.Concat(x.marks, y.marks)}
	},
	"objAnd": func(a *args) any { return object{text: a.object("a").text + " and " + a.object("b").text} },

	// Places.
	"relation":     func(a *args) any { return relation(a.text("r"), a.object("o")) },
	"relationEach": func(a *args) any { return one(query.KindLocation, a.text("r")+" each other") },
	"relationIt":   func(a *args) any { return one(query.KindLocation, a.text("r")+" it") },
	"framePlace":   func(a *args) any { return one(query.KindLocation, a.text("s")) },
	"vertical":     func(*args) any { return one(query.KindLocation, "middle") },
	"background":   func(*args) any { return one(query.KindLocation, "background") },
	"foreground":   func(*args) any { return one(query.KindLocation, "foreground") },
	"corner":       func(*args) any { return one(query.KindLocation, "corner") },
	"outside":      func(*args) any { return one(query.KindLocation, "outside") },
	"inside":       func(*args) any { return one(query.KindLocation, "inside") },
	"side":         func(a *args) any { return side(a.text("w")) },
	"adverb":       func(a *args) any { return one(query.KindLocation, a.text("w")) },
	"sides":        func(a *args) any { return sides(a.text("a"), a.text("b")) },
}
