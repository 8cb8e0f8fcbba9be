package english

import (
	"slices"
	"strings"

	"vqa/domain/query"
)

func (a *args) clause(label string) clause {
	c, _ := a.get(label).(clause)
	c.subject = c.subject.clone()
	return c
}

func (a *args) question(label string) question {
	switch v := a.get(label).(type) {
	case question:
		return v
	case clause:
		return question{ask: query.AskWhether, clause: v}
	}
	return question{}
}

// about is a clause that says a predicate of its subject.
func about(x phrases, p predicate) any {
	if len(x.of) == 0 || p.alternatives == nil {
		return nil
	}
	c := clause{subject: x, predicate: p}
	if empty := p.alternatives; len(x.of) == 1 && tables["scenes"][x.of[0].thing.Term] != "" && len(empty) == 1 && len(empty[0]) == 1 && empty[0][0].Value == "empty" {
		// Nobody is in an empty room.
		return clause{subject: phrases{of: []phrase{thing("person")}}, predicate: nothingMore, not: !empty[0][0].Negated, presence: true}
	}
	if len(x.of) == 1 && x.of[0].part != "" {
		return c.ofPart()
	}
	for _, of := range x.of {
		if films[of.thing.Term] || tables["media"][of.thing.Term] != "" && p.shows() {
			return nil // the grammar reads "does the video show"
		}
		if !of.definite && len(p.alternatives) > 0 && unclear(of.thing.Conditions, p.alternatives[0]) {
			return nil // "is a man next to a woman in red"
		}
		if acts(of.thing.Conditions) && len(p.with) > 0 {
			return nil // "playing with a ball" is one action
		}
	}
	for i, of := range x.of {
		if i < len(x.of)-1 && !p.empty() && slices.ContainsFunc(of.thing.Conditions, func(c query.Condition) bool { return c.Kind == query.KindLocation || c.Kind == query.KindAction }) {
			return nil // "is the dog on the left and the cat on the right" says something of each
		}
	}
	if p.empty() {
		c.presence = true
	}
	return c
}

// shows reports whether a predicate is what videos do.
func (p predicate) shows() bool {
	return slices.ContainsFunc(p.alternatives, func(a []query.Condition) bool {
		return len(a) > 0 && setOf("containing showing having featuring including depicting displaying lacking missing")[strings.Fields(a[0].Value + " ?")[0]]
	})
}

// ofPart says something of a part of a thing: "the man's shirt is red".
func (c clause) ofPart() any {
	p := c.subject.of[0]
	part := p.part
	p.part = ""
	c.subject.of = []phrase{p}
	var out [][]query.Condition
	for _, alt := range c.alternatives {
		if len(alt) != 1 || len(c.with) > 0 {
			return nil
		}
		v := alt[0]
		switch {
		case part == "color" || part == "colour":
			if v.Kind != query.KindAttribute {
				return nil
			}
		case garments[part] != "" && v.Kind == query.KindAttribute:
			v.Value = "wearing " + v.Value + " " + garments[part]
		case body[part] != "":
			form, _ := strings.CutPrefix(v.Value, "being ")
			posed, ok := pose(part, form).(predicate)
			if ok {
				v = posed.alternatives[0][0]
			} else if v.Kind == query.KindAttribute {
				v.Value = "with " + v.Value + " " + part
			} else {
				return nil
			}
		default:
			return nil
		}
		out = append(out, []query.Condition{v})
	}
	c.alternatives = out
	return c
}

// denied says the opposite of a predicate of its subject.
func denied(x phrases, p predicate) any {
	if p.empty() {
		return clause{subject: x, predicate: nothingMore, not: true, presence: true}
	}
	out, ok := p.not()
	if !ok {
		return nil
	}
	return about(x, out)
}

// there asks whether things are there.
func there(x phrases) any {
	if len(x.of) == 0 {
		return nil
	}
	x.of = slices.Clone(x.of)
	for i, p := range x.of {
		if p.part != "" {
			x.of[i].thing.Term, x.of[i].part = noun{p.part, p.thing.Term}.String(), ""
		}
	}
	return clause{subject: x, predicate: nothingMore, presence: true}
}

func notThere(x phrases) any {
	c, ok := there(x).(clause)
	if !ok || x.of[0].none {
		return nil
	}
	c.not = true
	return c
}

// joined joins two clauses that hold in the same frame. A pronoun in the second one stands for a thing of
// the first.
func joined(a, b clause, op func([]query.Statement) query.Statement) any {
	if len(b.within) > 0 && !slices.Equal(a.within, b.within) {
		return nil
	}
	if merged, ok := merge(a, b); ok {
		return merged
	}
	if b.pronouns() {
		return nil
	}
	if last := a.last(); last != "" {
		b = b.replaceIt(last)
	}
	x, y := a.statement(), b.statement()
	if x == nil || y == nil {
		return nil
	}
	return clause{body: op([]query.Statement{x, y}), within: a.within}
}

func (c clause) pronouns() bool {
	return slices.ContainsFunc(c.subject.of, func(p phrase) bool { return p.pronoun == "it" })
}

// last is the last thing that a clause names.
func (c clause) last() string {
	if n := len(c.subject.of); n > 0 && c.body == nil {
		return c.subject.of[n-1].thing.Term
	}
	if all := query.Things(c.body); c.body != nil && len(all) > 0 {
		return all[len(all)-1].Term
	}
	return ""
}

// replaceIt replaces "it" in the conditions of a clause by a noun.
func (c clause) replaceIt(term string) clause {
	out := c.predicate
	out.alternatives = nil
	for _, alt := range c.alternatives {
		alt = slices.Clone(alt)
		for i := range alt {
			for _, it := range []string{" it", " him", " her", " them"} {
				if v, ok := strings.CutSuffix(alt[i].Value, it); ok {
					alt[i].Value = v + " " + term
				}
			}
		}
		out.alternatives = append(out.alternatives, alt)
	}
	c.predicate = out
	return c
}

// merge says the predicate of b, whose subject is a pronoun, of the last thing of a.
func merge(a, b clause) (clause, bool) {
	if a.body != nil || b.body != nil || len(b.subject.of) != 1 || b.subject.of[0].pronoun == "" || a.not || b.not || b.empty() {
		return clause{}, false
	}
	n := len(a.subject.of) - 1
	p := a.subject.of[n]
	if p.number != nil || p.which != "" || p.none || len(b.alternatives) != 1 || len(a.alternatives) > 1 {
		return clause{}, false
	}
	if n > 0 {
		p.thing.Conditions = slices.Concat(p.thing.Conditions, b.alternatives[0])
		a.subject.of = append(slices.Clone(a.subject.of[:n]), p)
		return a, true
	}
	presence := a.presence
	a.predicate = a.both(b.predicate)
	a.presence = presence
	return a, true
}

// two is a prompt with two questions that no typed question holds together.
func two(a, b question) any {
	return question{others: []question{a, b}}
}

// clauseActions are the meanings of rules about clauses, what is asked, and times.
var clauseActions = map[string]func(*args) any{
	"there":    func(a *args) any { return there(a.things("x")) },
	"notThere": func(a *args) any { return notThere(a.things("x")) },
	"freeOf": func(a *args) any {
		x := a.things("x")
		x.any = true // "free of cars and bikes": of either
		if n := a.text("n"); tables["scenes"][n] == "" && tables["media"][n] == "" {
			return nil
		}
		return notThere(x)
	},
	"heard": func(a *args) any {
		return about(a.things("x"), predicate{alternatives: [][]query.Condition{{marked(query.Audio, "hear"), {Kind: refused}}}})
	},
	"placed": func(a *args) any {
		c := a.clause("x")
		if c.body != nil || !c.empty() {
			return nil
		}
		p := a.predicate("p")
		for i := range c.subject.of {
			if !c.subject.of[i].add(p) {
				return nil
			}
		}
		return c
	},
	"pred":    func(a *args) any { return about(a.things("x"), a.predicate("p")) },
	"predNot": func(a *args) any { return denied(a.things("x"), a.predicate("p")) },
	"predAlways": func(a *args) any {
		c, ok := about(a.things("x"), a.predicate("p")).(clause)
		if !ok {
			return nil
		}
		c.always = true
		return c
	},
	"predAll": func(a *args) any {
		x := a.things("x")
		if len(x.of) != 1 || !x.of[0].quantifierless() {
			return nil
		}
		x.of[0].which = query.AllOf
		return about(x, a.predicate("p"))
	},
	"predTag": func(a *args) any {
		x := a.things("x")
		if slices.ContainsFunc(x.of, func(p phrase) bool { return p.which != "" }) {
			return nil // "is not everyone sitting"
		}
		return about(x, a.predicate("p"))
	},
	"predAnd": func(a *args) any {
		x, ok := about(a.things("x"), a.predicate("p")).(clause)
		y, also := there(a.things("y")).(clause)
		if !ok || !also {
			return nil
		}
		return joined(x, y, func(of []query.Statement) query.Statement { return all(of...) })
	},
	"predTwo": func(a *args) any {
		x, ok := about(a.things("x"), a.predicate("p")).(clause)
		y, also := about(a.things("y"), a.predicate("q")).(clause)
		if !ok || !also {
			return nil
		}
		return joined(x, y, func(of []query.Statement) query.Statement { return all(of...) })
	},
	"verb":    func(a *args) any { return about(a.things("x"), a.predicate("vp")) },
	"verbNot": func(a *args) any { return denied(a.things("x"), a.predicate("vp")) },
	"colored": func(a *args) any {
		return about(a.things("x"), alternatives(query.KindAttribute, "", a.text("c")))
	},
	"having":    func(a *args) any { return about(a.things("x"), having(a.items("w"), false)) },
	"havingNot": func(a *args) any { return about(a.things("x"), having(a.items("w"), true)) },
	"near":      func(a *args) any { return about(a.things("x"), one(query.KindLocation, "near each other")) },
	"beRole": func(a *args) any {
		x, n := a.things("x"), a.text("n")
		if len(x.of) != 1 {
			return nil
		}
		return about(x, one(query.KindAttribute, n))
	},
	"role": func(a *args) any { return a.get("n") },
	"weather": func(a *args) any {
		return about(phrases{of: []phrase{thing("scene")}}, one(query.KindState, a.text("w")))
	},
	"leaveState": func(a *args) any {
		if a.things("x"); a.object("obj").text == "" {
			return nil
		}
		return about(phrases{of: []phrase{thing(a.object("obj").text)}}, one(query.KindState, states[a.text("st")]))
	},
	"exceeds": func(a *args) any { return withNumber(a.things("x"), counted(query.MoreThan, a.int("q"))) },
	"numberIs": func(a *args) any {
		q, _ := a.get("q").(quantifier)
		return withNumber(a.things("x"), q)
	},
	"within": func(a *args) any {
		w := a.text("t")
		switch v := a.get("x").(type) {
		case clause:
			v.within = append(slices.Clone(v.within), w)
			return v
		case question:
			if len(v.others) > 0 {
				return nil
			}
			v.within = append(slices.Clone(v.within), w)
			return v
		}
		return nil
	},
	"always": func(a *args) any {
		c := a.clause("x")
		c.always = true
		return c
	},
}

func orNil(p predicate, ok bool) any {
	if !ok {
		return nil
	}
	return p
}

func withNumber(x phrases, q quantifier) any {
	if len(x.of) != 1 || !x.of[0].quantifierless() || q.number == nil {
		return nil
	}
	q.marks = x.of[0].marks
	x.of[0].quantifier = q
	return there(x)
}

func more(a, b phrase) any {
	if !a.quantifierless() || !b.quantifierless() || len(a.with)+len(b.with)+len(a.choices)+len(b.choices) > 0 {
		return nil
	}
	return clause{body: query.More{Thing: a.thing, Than: b.thing}}
}
