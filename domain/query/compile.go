package query

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Compile turns a prompt into a query by rules. It never fails: a prompt that the
// rules do not wholly understand becomes open_ended. A prompt over 2000 characters is
// read up to that length; refusing it is the caller's business.
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
		// The words were understood, but a query cannot hold them: too many subjects, or
		// "not exactly two".
		p.giveUp()
		p.obstacles = nil
		q = p.build(prompt)
	}
	return q
}

// parser gathers what it finds in a prompt.
type parser struct {
	subjects   []Subject
	conditions []Condition
	// objects are further things that a condition names: the car of "next to a car".
	objects   []string
	obstacles []Unassessable
	operator  Operator
	// counting: the number is asked for. timed: the time is.
	counting, timed bool
	negated         bool
	// exists: the question asks whether something is there; otherwise its subject is
	// presupposed and only the predicate is asked.
	asksPresence bool
	// definite: the noun that is read has a definite article.
	definite bool
	// bare: there is nothing but a noun phrase.
	nounOnly  bool
	openEnded bool
	// anyOf and allOf: subjects were joined by "or", by "and".
	anyOf, allOf bool
	// choiceKind is the kind of conditions joined by "or", with how many of these there are.
	choiceKind Kind
	choices    int
	// atMost is the upper end of a range of numbers, 0 when none is asked about.
	atMost int
	// stem is the last condition without its object, "next to" or "riding", and article
	// the word in front of that.
	stem, article string
}

// noteConjunction notes how one more subject is joined; a comma takes the word that comes later.
func (p *parser) noteConjunction(op Operator, comma bool) {
	p.anyOf = p.anyOf || op == Any
	p.allOf = p.allOf || op == All && !comma
}

// noteAlternative notes that one more condition of a kind is joined by "or".
func (p *parser) noteAlternative(kind Kind) {
	if p.choiceKind != "" && p.choiceKind != kind {
		// Two choices at once; no query holds them.
		p.choices = -maxConditions
	}
	p.choiceKind = kind
	p.choices++
}

// addChoice adds conditions on subject s of which one is enough, or of which none may hold.
func (p *parser) addChoice(s int, attributes []string, negated bool) {
	for i, value := range attributes {
		if i > 0 && !negated {
			p.noteAlternative(KindAttribute)
		}
		p.addCondition(s, KindAttribute, value, negated)
	}
}

// settleOperator settles the operator. It returns false for what one operator cannot say:
// "a dog and a cat or a bird", "red or running".
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

// noteSubjective names what is a matter of taste in a question that is not answered.
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

// read returns false when a part of the prompt is not understood.
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
			// Politeness, or the number of an item in a list.
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
		// How many there are in a window is still a count.
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

// continuesInNext reports whether a sentence goes on in the next: "Count: sheep", "no. of sheep".
func continuesInNext(s, next words) bool {
	if s.text() == "no" {
		return next.at(0) == "of"
	}
	return countLeads.match(s, 0) == len(s) && len(dropPoliteness(next)) > 0
}

// addUpperBound asks for the upper end of a range with a subject of its own. It returns false
// where one more subject says something else.
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

// splitAlternatives gives each alternative a subject of its own: "a red or blue car". It returns
// false where a number is asked about, which holds for the alternatives together.
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

// intent is the table of the package comment.
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

// placeNegation moves a negation to where the intent holds it.
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
	default: // the others carry it themselves
	}
}

// opposite turns "not at least three" into "fewer than three". "Not exactly" has no
// comparison of its own; its empty one fails Validate.
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
	default: // its conditions decide
	}
	t := TypeObject
	for _, c := range q.Conditions {
		switch c.Kind {
		case KindAction:
			return TypeAction
		case KindAttribute, KindState:
			t = TypeAttribute
		default: // place and time narrow any type
		}
	}
	return t
}
