package query

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Compile turns a prompt into a query by rules. It never fails: a prompt that the rules do not
// wholly understand becomes open_ended. Of a prompt over 2000 characters it reads the first
// 2000; the caller refuses such prompts.
func Compile(prompt string) Query {
	prompt = strings.ToValidUTF8(prompt, "\uFFFD")
	if utf8.RuneCountInString(prompt) > maxPromptLen {
		prompt = string([]rune(prompt)[:maxPromptLen])
	}
	p := &parser{operator: All}
	if !p.read(prompt) {
		p.giveUp()
		p.noteSubjective(prompt)
	}
	q := p.build(prompt)
	if Validate(q) != nil {
		// The rules understand the words, but a query cannot hold them: too many subjects, or
		// "not exactly two".
		p.giveUp()
		p.obstacles = nil
		q = p.build(prompt)
	}
	return q
}

// parser collects what it finds in a prompt.
type parser struct {
	subjects   []Subject
	conditions []Condition
	// objects are the other things that a condition names: the car of "next to a car".
	objects   []string
	obstacles []Unassessable
	operator  Operator
	// counting is true when the question asks for a number, timed when it asks for times.
	counting, timed bool
	negated         bool
	// asksPresence is true when the question asks whether something is there. Otherwise it
	// presupposes its subject and asks only for the predicate.
	asksPresence bool
	// definite is true when the current noun has a definite article.
	definite bool
	// nounOnly is true when the prompt is only a noun phrase.
	nounOnly  bool
	openEnded bool
	// anyOf is true after subjects joined by "or", allOf after subjects joined by "and".
	anyOf, allOf bool
	// choiceKind is the kind of the conditions joined by "or", choices the number of joins.
	choiceKind Kind
	choices    int
	// atMost is the upper end of a range of numbers, 0 when the question has no range.
	atMost int
	// stem is the last condition without its object, "next to" or "riding". article is the
	// first word of that object.
	stem, article string
}

// noteConjunction notes how one more subject is joined. A comma takes the meaning of the
// conjunction that follows later.
func (p *parser) noteConjunction(op Operator, comma bool) {
	p.anyOf = p.anyOf || op == Any
	p.allOf = p.allOf || op == All && !comma
}

// noteAlternative notes that one more condition of a kind is joined by "or".
func (p *parser) noteAlternative(kind Kind) {
	if p.choiceKind != "" && p.choiceKind != kind {
		// No query holds two choices at once.
		p.choices = -maxConditions
	}
	p.choiceKind = kind
	p.choices++
}

// addChoice adds conditions on subject s. One of them is enough; when negated, none may hold.
func (p *parser) addChoice(s int, attributes []string, negated bool) {
	for i, value := range attributes {
		if i > 0 && !negated {
			p.noteAlternative(KindAttribute)
		}
		p.addCondition(s, KindAttribute, value, negated)
	}
}

// settleOperator sets the operator of the query. It returns false when one operator is not
// enough: "a dog and a cat or a bird", "red or running".
func (p *parser) settleOperator() bool {
	switch {
	case p.choiceKind != "":
		alike := 0
		for _, c := range p.conditions {
			if c.Kind == p.choiceKind {
				alike++
			}
		}
		if len(p.subjects) != 1 || alike != p.choices+1 {
			return false
		}
		p.operator = Any
		return p.choiceKind == KindLocation || p.splitAlternatives()
	case p.anyOf && p.allOf, p.contradicts():
		return false
	case p.anyOf:
		p.operator = Any
	}
	return true
}

func (p *parser) giveUp() {
	p.openEnded = true
	p.subjects, p.conditions, p.objects = nil, nil, nil
	p.negated, p.operator = false, All
}

// noteSubjective notes the words of a matter of taste in a question that is not answered.
func (p *parser) noteSubjective(prompt string) {
	if len(p.obstacles) > 0 {
		return
	}
	for _, s := range sentences(prompt) {
		for _, t := range s {
			if subjectiveWords[t.w] {
				p.addObstacle(Subjective, t.w)
			}
		}
	}
}

func (p *parser) addObstacle(kind Obstacle, what string) {
	if r := []rune(what); len(r) > maxTextLen {
		what = string(r[:maxTextLen])
	}
	u := Unassessable{Kind: kind, Text: what}
	if what != "" && !slices.Contains(p.obstacles, u) {
		p.obstacles = append(p.obstacles, u)
	}
}

func (p *parser) addCondition(subject int, kind Kind, value string, negated bool) {
	p.conditions = append(p.conditions, Condition{
		Subject: p.subjects[subject].ID, Kind: kind, Value: value, Negated: negated,
	})
}

func (p *parser) addSubject(term string, quantity *Quantity) int {
	p.subjects = append(p.subjects, Subject{ID: "s" + strconv.Itoa(len(p.subjects)+1), Term: term, Quantity: quantity, Presupposed: p.definite})
	return len(p.subjects) - 1
}

// read returns false when it does not understand a part of the prompt.
func (p *parser) read(prompt string) bool {
	var ts words
	all := sentences(prompt)
	for i, s := range all {
		if i+1 < len(all) && continuesInNext(s, all[i+1]) {
			all[i+1] = slices.Concat(s, all[i+1])
			continue
		}
		if s.at(0) == "if" && s.has(",") {
			// "If there is a dog, is there a cat": no query holds a premise.
			return false
		}
		if s = dropPoliteness(s); len(s) == 0 || len(s) == 1 && s[0].w[0] <= '9' {
			// This is politeness, or the number of a list item.
			continue
		}
		if ts != nil {
			return false
		}
		ts = s
	}
	if len(ts) == 0 || len(ts) >= maxTokens {
		return false
	}
	if titleCase(ts) {
		for i := range ts {
			ts[i].name = false
		}
	}
	ts, windows := cutWindows(ts)
	ts = dropPoliteness(ts)
	if !p.readClause(moveLeadingPlace(clean(ts))) || len(p.subjects) == 0 {
		return false
	}
	if !p.asksPresence && len(p.conditions) == 0 && len(p.obstacles) > 0 && !p.counting && !p.timed {
		// "Is the dog barking": the dog is presupposed, the rest cannot be assessed.
		return false
	}
	for s := range p.subjects {
		p.subjects[s].Presupposed = p.subjects[s].Presupposed && !p.asksPresence
	}
	for _, w := range windows {
		// A number within a window is still a count.
		p.timed = p.timed || !p.counting
		for s := range p.subjects {
			p.addCondition(s, KindTime, w, false)
		}
	}
	if !p.addUpperBound() || !p.settleOperator() {
		return false
	}
	p.expandRoles()
	return true
}

// continuesInNext reports whether the next sentence continues this one: "Count: sheep", "no. of
// sheep".
func continuesInNext(s, next words) bool {
	if s.text() == "no" {
		return next.at(0) == "of"
	}
	return countLeads.match(s, 0) == len(s) && len(dropPoliteness(next)) > 0
}

// addUpperBound adds a second subject for the upper end of a range. It returns false when the
// query cannot hold one more subject with the same meaning.
func (p *parser) addUpperBound() bool {
	if p.atMost == 0 {
		return true
	}
	if len(p.subjects) != 1 || p.counting || p.negated {
		return false
	}
	of, conditions := p.subjects[0], p.conditions
	s := p.addSubject(of.Term, &Quantity{Op: AtMost, Value: p.atMost})
	p.subjects[s].Presupposed = of.Presupposed
	for _, c := range conditions {
		p.addCondition(s, c.Kind, c.Value, c.Negated)
	}
	return true
}

// splitAlternatives gives each alternative its own subject: "a red or blue car". It returns
// false when the question has a number, which holds for the alternatives together.
func (p *parser) splitAlternatives() bool {
	if p.counting || p.subjects[0].Quantity != nil {
		return false
	}
	of, conditions := p.subjects[0], p.conditions
	p.subjects, p.conditions = nil, nil
	for i, alternative := range conditions {
		if alternative.Kind != p.choiceKind {
			continue
		}
		s := p.addSubject(of.Term, nil)
		p.subjects[s].Presupposed = of.Presupposed
		for k, c := range conditions {
			if k == i || c.Kind != p.choiceKind {
				p.addCondition(s, c.Kind, c.Value, c.Negated)
			}
		}
	}
	return true
}

func (p *parser) build(prompt string) Query {
	q := Query{
		SchemaVersion: SchemaVersion, Subjects: p.subjects, Conditions: p.conditions,
		Operator: p.operator, Negated: p.negated, UnassessableComponents: p.obstacles,
	}
	if strings.TrimSpace(prompt) != "" {
		q.OriginalPrompt = &prompt
	}
	q.PromptIntent = p.intent()
	p.placeNegation(&q)
	for _, s := range q.Subjects {
		q.SearchTerms = addTerm(q.SearchTerms, s.Term)
	}
	for _, o := range p.objects {
		q.SearchTerms = addTerm(q.SearchTerms, o)
	}
	slices.SortStableFunc(q.Conditions, func(a, b Condition) int {
		return cmp.Or(cmp.Compare(len(a.Subject), len(b.Subject)), cmp.Compare(a.Subject, b.Subject))
	})
	q.QueryType = typeOf(q)
	return q.normal()
}

func addTerm(terms []string, term string) []string {
	if slices.Contains(terms, term) {
		return terms
	}
	return append(terms, term)
}

// intent follows the table of intents in the package comment.
func (p *parser) intent() Intent {
	has := func(kind Kind) bool {
		return slices.ContainsFunc(p.conditions, func(c Condition) bool { return c.Kind == kind })
	}
	switch {
	case p.openEnded:
		return OpenEnded
	case p.timed:
		return Segment
	case len(p.subjects) > 1:
		return Compound
	case p.counting:
		return Count
	case p.subjects[0].Quantity != nil:
		return CountThreshold
	case has(KindAction):
		return Action
	case has(KindLocation):
		return Location
	case has(KindState):
		return State
	case has(KindAttribute):
		return Attribute
	case p.negated:
		return Absence
	default:
		return Presence
	}
}

// placeNegation moves a negation to the field in which the intent holds it.
func (p *parser) placeNegation(q *Query) {
	switch q.PromptIntent {
	case Count:
		q.Negated = false
		q.Subjects[0].Quantity = nil
	case CountThreshold:
		if q.Negated {
			q.Subjects[0].Quantity = opposite(q.Subjects[0].Quantity)
			q.Negated = false
		}
	default: // the other intents keep Negated
	}
}

// opposite turns "not at least three" into "fewer than three". "Not exactly" has no opposite
// comparison; the empty one it gets fails Validate.
func opposite(n *Quantity) *Quantity {
	op := map[Comparison]Comparison{AtLeast: FewerThan, FewerThan: AtLeast, MoreThan: AtMost, AtMost: MoreThan}[n.Op]
	return &Quantity{Op: op, Value: n.Value}
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
