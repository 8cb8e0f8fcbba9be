package english

import (
	"slices"
	"strings"

	"vqa/domain/query"
)

// A phrase is what a noun phrase means.
type phrase struct {
	thing query.Thing
	quantifier
	// choices are alternatives of which the thing has one: the colors of "a red or blue car".
	choices []query.Condition
	// with are statements about things that the phrase brings along: the dog of "a man with a dog".
	with []query.Statement
	// pronoun is the word of a pronoun that stands for an earlier thing.
	pronoun string
	// part is the part of the thing that the phrase names: the shirt of "the man's shirt".
	part string
}

// A quantifier says how many and which instances a phrase means.
type quantifier struct {
	number *query.Quantity
	// most is the upper end of a range, or 0.
	most  int
	which query.Universal
	// none is true for "no dog", both for "both dogs".
	none, both, definite bool
	// pair is true for "a pair of".
	pair bool
	// owner is the pronoun of an owner: "his".
	owner string
	marks []query.Condition
}

// phrases are noun phrases joined by "and" or "or".
type phrases struct {
	of []phrase
	// any joins by "or". none denies all of them: "neither … nor".
	any, none bool
	// open is true for a list with only commas so far.
	open bool
}

// A predicate is what is said of a thing: alternatives, each a list of conditions.
type predicate struct {
	alternatives [][]query.Condition
	with         []query.Statement
}

// A clause is a whole statement, or the parts of one.
type clause struct {
	subject phrases
	predicate
	// not denies the whole. presence is true when the clause asks whether its subject is there.
	not, presence bool
	// body replaces the fields above in a statement of several clauses.
	body   query.Statement
	within []string
	always bool
}

// A question is what a whole prompt means. others are the parts of a prompt that asks several questions.
type question struct {
	ask query.Ask
	clause
	others []question
}

// mark is the kind of a condition that stands for a part of a question that cannot be assessed. Its value
// is the obstacle and, after a colon, the words.
const mark query.Kind = "mark"

// refused is the kind of a condition without which nothing is left to ask.
const refused query.Kind = "refused"

func marked(kind query.Obstacle, words string) query.Condition {
	return query.Condition{Kind: mark, Value: string(kind) + ":" + words}
}

func one(kind query.Kind, value string) predicate {
	return predicate{alternatives: [][]query.Condition{{{Kind: kind, Value: value}}}}
}

// nothingMore says nothing of a thing.
var nothingMore = predicate{alternatives: [][]query.Condition{nil}}

// both joins two predicates.
func (p predicate) both(q predicate) predicate {
	out := predicate{with: slices.Concat(p.with, q.with)}
	for _, a := range p.alternatives {
		for _, b := range q.alternatives {
			out.alternatives = append(out.alternatives, slices.Concat(a, b))
		}
	}
	return out
}

// not denies a predicate. ok is false when the result is not a conjunction.
func (p predicate) not() (predicate, bool) {
	if len(p.with) > 0 {
		return predicate{}, false
	}
	var all []query.Condition
	for _, a := range p.alternatives {
		if len(a) > 1 {
			// "not sitting on the chair" does not say which of both is denied.
			return predicate{}, false
		}
		for _, c := range a {
			c.Negated = !c.Negated
			all = append(all, c)
		}
	}
	return predicate{alternatives: [][]query.Condition{all}}, true
}

// empty reports whether a predicate says nothing.
func (p predicate) empty() bool {
	return len(p.with) == 0 && (len(p.alternatives) == 0 || len(p.alternatives) == 1 && len(p.alternatives[0]) == 0)
}

// statement is the statement of a clause, or nil when the typed question has none for it.
func (c clause) statement() query.Statement {
	if c.body != nil {
		return c.body
	}
	if len(c.alternatives) == 0 {
		c.predicate = predicate{alternatives: nothingMore.alternatives, with: c.with}
	}
	var of []query.Statement
	none := c.subject.none
	for _, p := range c.subject.of {
		s := c.about(p)
		if s == nil {
			return nil
		}
		of = append(of, s)
	}
	if len(of) == 0 {
		return nil
	}
	s, ok := joinNone(of, c.subject.any || none)
	if !ok {
		return nil
	}
	if none {
		s = query.Not{Of: s}
	}
	if len(c.with) > 0 {
		switch s.(type) {
		case query.Is, query.And:
		default:
			return nil
		}
		s = all(append([]query.Statement{s}, c.with...)...)
	}
	if c.not {
		return not(s)
	}
	return s
}

// joinNone joins statements. "no cats and no dogs" denies both, as does "no cats or dogs".
func joinNone(of []query.Statement, either bool) (query.Statement, bool) {
	var denied []query.Statement
	for _, s := range of {
		if n, ok := s.(query.Not); ok {
			denied = append(denied, n.Of)
		}
	}
	switch {
	case len(of) == 1:
		return of[0], true
	case len(denied) == len(of):
		return query.Not{Of: query.Or{Of: denied}}, true
	case either && len(denied) > 0:
		first, ok := of[0].(query.Not)
		if !ok || len(denied) > 1 {
			return nil, false
		}
		return query.Not{Of: query.Or{Of: append([]query.Statement{first.Of}, of[1:]...)}}, true
	case either:
		return query.Or{Of: of}, true
	}
	return all(of...), true
}

// all joins statements by "and" in one list.
func all(of ...query.Statement) query.Statement {
	var out []query.Statement
	for _, s := range of {
		if and, ok := s.(query.And); ok {
			out = append(out, and.Of...)
		} else {
			out = append(out, s)
		}
	}
	return query.And{Of: out}
}

// opposites of comparisons: "not at least three" is "fewer than three".
var opposites = map[query.Comparison]query.Comparison{
	query.AtLeast: query.FewerThan, query.FewerThan: query.AtLeast, query.MoreThan: query.AtMost, query.AtMost: query.MoreThan,
}

func not(s query.Statement) query.Statement {
	switch s := s.(type) {
	case query.Not:
		return s.Of
	case query.Number:
		op, ok := opposites[s.Quantity.Op]
		if !ok {
			return nil
		}
		s.Quantity.Op = op
		return s
	case query.Share:
		return nil
	}
	return query.Not{Of: s}
}

// about is the statement about one phrase.
func (c clause) about(p phrase) query.Statement {
	if p.part != "" {
		return nil
	}
	var of []query.Statement
	for _, asked := range c.alternatives {
		choices := [][]query.Condition{nil}
		if len(p.choices) > 0 {
			choices = nil
			for _, choice := range p.choices {
				choices = append(choices, []query.Condition{choice})
			}
		}
		for _, choice := range choices {
			s := c.simple(p, choice, asked)
			if s == nil {
				return nil
			}
			of = append(of, s)
		}
	}
	if len(of) == 1 {
		return of[0]
	}
	if p.number != nil || p.which != "" || p.both || len(p.with) > 0 {
		// The number holds for the alternatives together.
		return nil
	}
	if !c.presence && p.definite && exclude(c.alternatives) {
		return nil
	}
	s, _ := joinNone(of, true)
	return s
}

// simple is the statement about one phrase with one of its alternatives.
func (c clause) simple(p phrase, choice, asked []query.Condition) query.Statement {
	t := p.thing
	own := slices.Concat(choice, t.Conditions, p.marks)
	t.Conditions = tidy(slices.Concat(own, asked))
	t.Presupposed = p.definite && !c.presence && len(asked) > 0
	if hand := slices.IndexFunc(t.Conditions, func(x query.Condition) bool {
		return x.Value == "raised" || x.Value == "being raised" || x.Value == "up"
	}); hand >= 0 && (t.Term == "hand" || t.Term == "arm") {
		t.Term, t.Presupposed = "person", false
		t.Conditions[hand] = query.Condition{Kind: query.KindAction, Value: "raising hand", Negated: t.Conditions[hand].Negated}
	}
	if !c.presence && slices.ContainsFunc(asked, func(x query.Condition) bool {
		kind, _ := obstacleOf(t.Term, x)
		return kind != "" && x.Kind == query.KindAction && !spoken(x)
	}) || !c.presence && len(asked) > 0 && !slices.ContainsFunc(asked, func(x query.Condition) bool { kind, _ := obstacleOf(t.Term, x); return kind == "" || spoken(x) }) {
		// "Is a man singing": without the sound, there is nothing to ask.
		t.Conditions = append(t.Conditions, query.Condition{Kind: refused})
	}
	if contradicts(t.Conditions) {
		return nil
	}
	var s query.Statement = query.Is{Thing: t}
	switch {
	case p.which != "":
		if len(p.with) > 0 || p.number != nil && !p.both {
			return nil
		}
		t.Conditions, t.Presupposed = own, false
		s = query.Share{Which: p.which, Thing: t, Conditions: asked}
		if len(asked) == 0 && p.which == query.AllOf {
			s = query.Is{Thing: t}
		} else if len(asked) == 0 && p.which == query.MostOf {
			return nil
		}
		if p.both {
			s = query.And{Of: []query.Statement{query.Number{Quantity: query.Quantity{Op: query.AtLeast, Value: 2}, Thing: t}, s}}
		}
	case p.number != nil && p.number.Value == 0 && p.number.Op == query.Equal, p.none:
		s = query.Not{Of: s}
	case p.number != nil:
		s = query.Number{Quantity: *p.number, Thing: t}
		if p.most > 0 {
			s = query.And{Of: []query.Statement{s, query.Number{Quantity: query.Quantity{Op: query.AtMost, Value: p.most}, Thing: t}}}
		}
	}
	if len(p.with) > 0 {
		if _, is := s.(query.Is); !is {
			return nil
		}
		s = all(append([]query.Statement{s}, p.with...)...)
	}
	return s
}

// exclude reports whether alternatives exclude each other, so that the question asks which one it is.
func exclude(alternatives [][]query.Condition) bool {
	for i, a := range alternatives {
		for _, b := range alternatives[:i] {
			if len(a) > 0 && len(b) > 0 && clash(a[len(a)-1], b[len(b)-1]) {
				return true
			}
		}
	}
	return false
}

// contradicts reports whether one thing must have two values that exclude each other. "Does the man sit
// down and stand up" means one after the other, which no question holds.
func contradicts(conditions []query.Condition) bool {
	for i, a := range conditions {
		for _, b := range conditions[:i] {
			if !a.Negated && !b.Negated && clash(a, b) {
				return true
			}
		}
	}
	return false
}

func clash(a, b query.Condition) bool {
	if a.Kind != b.Kind || a.Value == b.Value {
		return false
	}
	for v := range strings.FieldsSeq(a.Value) {
		for w := range strings.FieldsSeq(b.Value) {
			group := tables["exclusive"][v]
			whole := a.Kind == query.KindLocation && len(strings.Fields(a.Value)) <= 2 && !strings.Contains(a.Value, " of") || v == a.Value
			if v != w && group != "" && group == tables["exclusive"][w] && whole {
				return true
			}
		}
	}
	return false
}

// spoken reports whether a condition is an action that can be seen and heard.
func spoken(c query.Condition) bool {
	first, _, _ := strings.Cut(c.Value, " ")
	return c.Kind == query.KindAction && tables["speech"][first] != ""
}
