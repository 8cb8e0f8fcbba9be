package english

import (
	"slices"

	"vqa/domain/query"
)

// askActions build questions: whether, when, how often. They also combine two statements.
var askActions = map[string]func(*args) any{
	// What is asked.
	"whether":    func(a *args) any { return askOf(query.AskWhether, a.clause("x")) },
	"when":       asks(query.AskWhen),
	"first":      asks(query.AskFirst),
	"last":       asks(query.AskLast),
	"times":      asks(query.AskTimes),
	"duration":   asks(query.AskDuration),
	"whenThere":  asksThere(query.AskWhen),
	"firstThere": asksThere(query.AskFirst),
	"lastThere":  asksThere(query.AskLast),
	"firstVP":    asksVerb(query.AskFirst),
	"lastVP":     asksVerb(query.AskLast),
	"whenPred": func(a *args) any {
		c, ok := about(a.things("x"), a.predicate("p")).(clause)
		if !ok {
			return nil
		}
		return askOf(query.AskWhen, c)
	},
	"firstNoun": func(a *args) any {
		c, ok := about(phrases{of: []phrase{thing(a.text("x"))}}, a.predicate("vp")).(clause)
		if !ok {
			return nil
		}
		return askOf(query.AskFirst, c)
	},
	"timesNoun": func(a *args) any {
		p, ok := doing(a.text("n")).(predicate)
		if !ok {
			return nil
		}
		c, ok := about(a.things("x"), p).(clause)
		if !ok {
			return nil
		}
		return askOf(query.AskTimes, c)
	},
	"count": func(a *args) any { return countOf(a.things("x"), a.predicate("r")) },
	"countPlace": func(a *args) any {
		q := a.question("x")
		q.predicate = q.both(a.predicate("p"))
		return q
	},
	"countThere": func(a *args) any { return countOf(a.things("x"), nothingMore) },
	"nounCount": func(a *args) any {
		if n := a.text("n"); n != "head" {
			return countOf(phrases{of: []phrase{thing(n)}}, nothingMore)
		}
		return nil
	},
	"headCount":    func(*args) any { return countOf(phrases{of: []phrase{thing("person")}}, nothingMore) },
	"counted":      func(a *args) any { return a.predicate("p") },
	"countedVP":    func(a *args) any { return a.predicate("vp") },
	"countedNot":   func(a *args) any { return orNil(a.predicate("p").not()) },
	"countedNotVP": func(a *args) any { return orNil(a.predicate("vp").not()) },

	// Two statements.
	"more":  func(a *args) any { return more(a.phrase("a"), a.phrase("b")) },
	"fewer": func(a *args) any { return more(a.phrase("b"), a.phrase("a")) },
	"order": func(a *args) any {
		first := a.clause("a")
		var other clause
		switch b := a.get("b").(type) {
		case clause:
			other = b
		default: // "before the man": he does the same
			other = clause{subject: a.things("b"), predicate: first.predicate, presence: first.presence}
		}
		x, y := first.statement(), other.statement()
		if x == nil || y == nil {
			return nil
		}
		return clause{body: query.Order{Sequence: query.Sequence(a.text("s")), First: x, Other: y}, within: first.within}
	},
	"while": func(a *args) any {
		x, y := a.clause("a").statement(), a.clause("b").statement()
		if x == nil || y == nil {
			return nil
		}
		return clause{body: query.Order{Sequence: query.While, First: x, Other: y}}
	},
	"join": func(a *args) any {
		return joined(a.clause("a"), a.clause("b"), func(of []query.Statement) query.Statement { return all(of...) })
	},
	"either": func(a *args) any {
		if b := a.clause("b"); len(b.subject.of) == 1 && b.subject.of[0].pronoun != "" {
			return nil // it asks which
		}
		return joined(a.clause("a"), a.clause("b"), func(of []query.Statement) query.Statement { return query.Or{Of: of} })
	},
	"twoQuestions": func(a *args) any { return two(a.question("a"), a.question("b")) },
	"twoCounts": func(a *args) any {
		r := a.predicate("r")
		x, ok := countOf(a.things("a"), r).(question)
		y, also := countOf(a.things("b"), r).(question)
		if !ok || !also {
			return nil
		}
		return two(x, y)
	},
	"sumCount": func(a *args) any {
		x, y := a.things("a"), a.things("b")
		return countOf(phrases{of: slices.Concat(x.of, y.of), any: true}, nothingMore)
	},
}

// askOf makes a question that asks something else than whether.
func askOf(ask query.Ask, c clause) any { return question{ask: ask, clause: c} }

func asks(ask query.Ask) func(*args) any {
	return func(a *args) any { return askOf(ask, a.clause("x")) }
}

func asksThere(ask query.Ask) func(*args) any {
	return func(a *args) any {
		c, ok := there(a.things("x")).(clause)
		if !ok {
			return nil
		}
		return askOf(ask, c)
	}
}

func asksVerb(ask query.Ask) func(*args) any {
	return func(a *args) any {
		c, ok := about(a.things("x"), a.predicate("vp")).(clause)
		if !ok {
			return nil
		}
		return askOf(ask, c)
	}
}

// countOf asks how many things satisfy a predicate.
func countOf(x phrases, p predicate) any {
	c, ok := about(x, p).(clause)
	if !ok {
		return nil
	}
	c.presence = true
	for i := range c.subject.of {
		q := &c.subject.of[i]
		if q.none || q.number != nil || q.which != "" && q.which != query.AllOf {
			return nil
		}
		q.which, q.both = "", false
		q.countWith()
	}
	var more []query.Condition
	for _, s := range c.with {
		t := query.Things(s)[0]
		_, not := s.(query.Not)
		more = append(more, query.Condition{Kind: query.KindAttribute, Value: "with " + t.Term, Negated: not})
	}
	c.predicate = c.both(predicate{alternatives: [][]query.Condition{more}})
	c.with = nil
	if len(c.subject.of) > 1 {
		c.subject.any = true
	}
	return question{ask: query.AskCount, clause: c}
}

// countWith turns the things that a counted thing brings along into conditions.
func (p *phrase) countWith() {
	for _, s := range p.with {
		t := query.Things(s)[0]
		_, not := s.(query.Not)
		p.thing.Conditions = append(p.thing.Conditions, query.Condition{Kind: query.KindAttribute, Value: "with " + t.Term, Negated: not})
	}
	p.with = nil
}
