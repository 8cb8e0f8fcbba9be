package query

import (
	"slices"
	"strconv"
)

// Encode returns the wire form of a question. Its search terms are the terms of its things, followed
// by more. An error is an *[InvalidError]: the question is larger than a query may be.
//
// The flat fields hold what they can: one thing, or several joined by and or by or, or the negation
// of these. Every other statement has groups.
func Encode(question Question, more ...string) (Query, error) {
	e := encoder{Query{SchemaVersion: SchemaVersion, Ask: question.Ask, Operator: All}}
	if !e.flat(question) {
		e.Subjects, e.Conditions, e.Negated, e.Operator = nil, nil, false, All
		e.group(question.Body)
	}
	within := slices.Clone(question.Within)
	if question.Always {
		within = append(within, Throughout)
	}
	for _, s := range e.Subjects {
		for _, w := range within {
			e.Conditions = append(e.Conditions, Condition{Subject: s.ID, Kind: KindTime, Value: w})
		}
	}
	for _, s := range e.Subjects {
		e.addTerm(s.Term)
	}
	for _, t := range more {
		e.addTerm(t)
	}
	e.PromptIntent = intentOf(e.Query)
	e.QueryType = typeOf(e.Query)
	q := e.normal()
	return q, Validate(q)
}

type encoder struct{ Query }

func (e *encoder) addTerm(term string) {
	if !slices.Contains(e.SearchTerms, term) {
		e.SearchTerms = append(e.SearchTerms, term)
	}
}

// flat writes a statement without groups. It returns false when the flat fields cannot hold it.
func (e *encoder) flat(q Question) bool {
	body := q.Body
	switch q.Ask {
	case AskTimes:
		return e.joined(body)
	case AskCount:
		return e.joined(body) && !slices.ContainsFunc(e.Subjects, func(s Subject) bool { return s.Quantity != nil })
	default: // the other asks may be negated
	}
	if n, ok := body.(Not); ok {
		if _, number := n.Of.(Number); number {
			return false
		}
		e.Negated, body = true, n.Of
	}
	return e.joined(body)
}

func (e *encoder) joined(body Statement) bool {
	switch s := body.(type) {
	case And:
		return e.parts(s.Of)
	case Or:
		e.Operator = Any
		return e.parts(s.Of)
	default:
		return e.leaf(s)
	}
}

func (e *encoder) parts(of []Statement) bool {
	for _, s := range of {
		if n, ok := s.(Not); ok {
			is, ok := n.Of.(Is)
			if !ok {
				return false
			}
			e.subject(is.Thing).Quantity = &Quantity{Op: Equal}
			continue
		}
		if !e.leaf(s) {
			return false
		}
	}
	return true
}

// leaf writes a statement about one thing.
func (e *encoder) leaf(s Statement) bool {
	switch s := s.(type) {
	case Is:
		e.subject(s.Thing)
	case Number:
		e.subject(s.Thing).Quantity = &s.Quantity
	case Share:
		t := s.Thing
		t.Conditions = slices.Clone(t.Conditions)
		for i := range t.Conditions {
			t.Conditions[i].Presupposed = true
		}
		t.Conditions = append(t.Conditions, s.Conditions...)
		e.subject(t).Universal = s.Which
	default:
		return false
	}
	return true
}

func (e *encoder) subject(t Thing) *Subject {
	id := "s" + strconv.Itoa(len(e.Subjects)+1)
	e.Subjects = append(e.Subjects, Subject{ID: id, Term: t.Term, Presupposed: t.Presupposed})
	for _, c := range t.Conditions {
		c.Subject = id
		e.Conditions = append(e.Conditions, c)
	}
	return &e.Subjects[len(e.Subjects)-1]
}

// group writes a statement as groups and returns its id.
func (e *encoder) group(s Statement) string {
	switch s := s.(type) {
	case And:
		return e.join(GroupAnd, s.Of...)
	case Or:
		return e.join(GroupOr, s.Of...)
	case Not:
		return e.join(GroupNot, s.Of)
	case Order:
		return e.join(GroupOp(s.Sequence), s.First, s.Other)
	case More:
		return e.join(GroupMore, Is{s.Thing}, Is{s.Than})
	default:
		e.leaf(s)
		return e.Subjects[len(e.Subjects)-1].ID
	}
}

func (e *encoder) join(op GroupOp, parts ...Statement) string {
	g := Group{Op: op}
	for _, p := range parts {
		g.Of = append(g.Of, e.group(p))
	}
	g.ID = "g" + strconv.Itoa(len(e.Groups)+1)
	e.Groups = append(e.Groups, g)
	return g.ID
}

// intentOf is the intent of a query without one; see the table of the package comment.
func intentOf(q Query) Intent {
	has := func(kind Kind) bool {
		return slices.ContainsFunc(q.Conditions, func(c Condition) bool { return c.Kind == kind })
	}
	switch {
	case q.Ask == AskCount || q.Ask == AskTimes:
		return Count
	case q.Ask != AskWhether || has(KindTime):
		return Segment
	case len(q.Subjects) > 1 || len(q.Groups) > 0:
		return Compound
	case q.Subjects[0].Quantity != nil:
		return CountThreshold
	case has(KindAction):
		return Action
	case has(KindLocation):
		return Location
	case has(KindState):
		return State
	case has(KindAttribute):
		return Attribute
	case q.Negated:
		return Absence
	default:
		return Presence
	}
}

// Question is the typed form of a valid query. ok is false for an open-ended one.
func (q Query) Question() (typed Question, ok bool) {
	if q.PromptIntent == OpenEnded || len(q.Subjects) == 0 {
		return Question{}, false
	}
	typed.Ask = q.Asked()
	for _, c := range q.Conditions {
		switch {
		case c.Kind != KindTime:
		case c.Value == Throughout:
			typed.Always = true
		case !slices.Contains(typed.Within, c.Value):
			typed.Within = append(typed.Within, c.Value)
		}
	}
	if n := len(q.Groups); n > 0 {
		typed.Body = q.read(q.Groups[n-1].ID)
		return typed, true
	}
	if body := q.choice(); body != nil {
		typed.Body = body
	} else {
		var of []Statement
		for _, s := range q.Subjects {
			of = append(of, q.one(s))
		}
		typed.Body = joined(q.Operator, of)
	}
	if q.Negated {
		typed.Body = Not{typed.Body}
	}
	return typed, true
}

func joined(op Operator, of []Statement) Statement {
	switch {
	case len(of) == 1:
		return of[0]
	case op == Any:
		return Or{of}
	default:
		return And{of}
	}
}

// Asked is Ask, or what a query without it asks for.
func (q Query) Asked() Ask {
	timed := slices.ContainsFunc(q.Conditions, func(c Condition) bool { return c.Kind == KindTime })
	switch {
	case q.Ask != "":
		return q.Ask
	case q.PromptIntent == Count:
		return AskCount
	case q.PromptIntent == Segment && !timed:
		return AskWhen
	default:
		return AskWhether
	}
}

// choice reads the locations of a single subject that are joined by the operator any: "on the left
// or on the right". It is nil for any other query.
func (q Query) choice() Statement {
	if len(q.Subjects) != 1 || q.Operator != Any {
		return nil
	}
	s := q.Subjects[0]
	var places, rest []Condition
	for _, c := range q.Conditions {
		if c.Kind == KindLocation && !c.Negated {
			places = append(places, c)
		} else {
			rest = append(rest, c)
		}
	}
	if len(places) < 2 {
		return nil
	}
	var of []Statement
	for _, p := range places {
		q.Conditions = append(slices.Clone(rest), p)
		of = append(of, q.one(s))
	}
	return Or{of}
}

// one is the statement about one subject.
func (q Query) one(s Subject) Statement {
	t := Thing{Term: s.Term, Presupposed: s.Presupposed}
	var asked []Condition
	for _, c := range q.Conditions {
		if c.Subject != s.ID || c.Kind == KindTime {
			continue
		}
		c.Subject = ""
		if s.Universal != "" && !c.Presupposed {
			asked = append(asked, c)
			continue
		}
		if s.Universal != "" {
			c.Presupposed = false
		}
		t.Conditions = append(t.Conditions, c)
	}
	switch {
	case s.Universal != "":
		return Share{Which: s.Universal, Thing: t, Conditions: asked}
	case s.Quantity == nil:
		return Is{t}
	case *s.Quantity == Quantity{Op: Equal}:
		return Not{Is{t}}
	default:
		return Number{Quantity: *s.Quantity, Thing: t}
	}
}

// read is the statement of a subject or a group.
func (q Query) read(id string) Statement {
	if i := slices.IndexFunc(q.Subjects, func(s Subject) bool { return s.ID == id }); i >= 0 {
		return q.one(q.Subjects[i])
	}
	g := q.Groups[slices.IndexFunc(q.Groups, func(g Group) bool { return g.ID == id })]
	var of []Statement
	for _, part := range g.Of {
		of = append(of, q.read(part))
	}
	switch g.Op {
	case GroupNot:
		return Not{of[0]}
	case GroupAnd:
		return And{of}
	case GroupOr:
		return Or{of}
	case GroupMore:
		return More{Things(of[0])[0], Things(of[1])[0]}
	default:
		return Order{Sequence(g.Op), of[0], of[1]}
	}
}

func typeOf(q Query) Type {
	switch q.PromptIntent {
	case OpenEnded:
		return TypeOpenEnded
	case Compound:
		return TypeCompound
	default: // the conditions decide
	}
	t := TypeObject
	for _, c := range q.Conditions {
		switch c.Kind {
		case KindAction:
			return TypeAction
		case KindAttribute, KindState:
			t = TypeAttribute
		default: // a place or a time does not change the type
		}
	}
	return t
}
