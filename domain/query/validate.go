package query

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of a query; schema.json repeats them.
const (
	maxSubjects   = 16
	maxConditions = 32
	maxTerms      = 32
	maxTermLen    = 100
	maxTextLen    = 200
	maxPromptLen  = 2000
	maxQuantity   = 1_000_000
	maxGroups     = 32
)

// InvalidError says which field of a compiled query is wrong. The HTTP API reports it as
// query_invalid with this param (docs/contract.md#create-analysis).
type InvalidError struct {
	// Param is the dotted path of the field, with list items by index: "subjects.0.term". It is
	// "" for the query as a whole.
	Param string
	// Message is one sentence for the client.
	Message string
}

func (e *InvalidError) Error() string {
	if e.Param == "" {
		return "invalid query: " + e.Message
	}
	return "invalid query: " + e.Param + ": " + e.Message
}

func invalid(param, format string, args ...any) error {
	return &InvalidError{Param: param, Message: fmt.Sprintf(format, args...)}
}

var (
	subjectID = regexp.MustCompile(`^s[1-9][0-9]?$`)
	groupID   = regexp.MustCompile(`^g[1-9][0-9]?$`)
)

var (
	intents     = []Intent{Presence, Absence, Count, CountThreshold, Action, Attribute, Location, State, Compound, Segment, OpenEnded}
	types       = []Type{TypeObject, TypeAction, TypeCompound, TypeAttribute, TypeOpenEnded}
	kinds       = []Kind{KindAttribute, KindAction, KindLocation, KindState, KindTime}
	comparisons = []Comparison{Equal, AtLeast, AtMost, MoreThan, FewerThan}
	obstacles   = []Obstacle{Audio, Identity, Text, Subjective, ExhaustiveCount}
	operators   = []Operator{All, Any}
	asks        = []Ask{AskWhether, AskCount, AskWhen, AskTimes, AskFirst, AskLast, AskDuration}
	universals  = []Universal{AllOf, MostOf, OnlyOf}
	groupOps    = []GroupOp{GroupAnd, GroupOr, GroupNot, GroupMore, GroupOp(Before), GroupOp(After), GroupOp(While)}
)

// Validate checks a query against the schema and against the rules that relate its fields. It
// returns nil, or an *[InvalidError] for the first wrong field.
func Validate(q Query) error {
	if q.SchemaVersion != SchemaVersion {
		return invalid("schema_version", "must be %d", SchemaVersion)
	}
	if q.OriginalPrompt != nil {
		if err := text("original_prompt", *q.OriginalPrompt, maxPromptLen); err != nil {
			return err
		}
	}
	checks := []func(Query) error{checkEnums, checkSubjects, checkConditions, checkGroups, checkTerms, checkUnassessable, checkIntent}
	for _, check := range checks {
		if err := check(q); err != nil {
			return err
		}
	}
	return nil
}

func checkEnums(q Query) error {
	if err := member("prompt_intent", q.PromptIntent, intents); err != nil {
		return err
	}
	if err := member("query_type", q.QueryType, types); err != nil {
		return err
	}
	if q.Ask != "" {
		if err := member("ask", q.Ask, asks); err != nil {
			return err
		}
	}
	return member("operator", q.Operator, operators)
}

func checkSubjects(q Query) error {
	if len(q.Subjects) > maxSubjects {
		return invalid("subjects", "must have at most %d subjects", maxSubjects)
	}
	seen := map[string]bool{}
	for i, s := range q.Subjects {
		at := "subjects." + strconv.Itoa(i)
		if !subjectID.MatchString(s.ID) {
			return invalid(at+".id", "must match %s", subjectID)
		}
		if seen[s.ID] {
			return invalid(at+".id", "must be unique, but %q is used twice", s.ID)
		}
		seen[s.ID] = true
		if err := text(at+".term", s.Term, maxTermLen); err != nil {
			return err
		}
		if s.Universal != "" {
			if err := member(at+".universal", s.Universal, universals); err != nil {
				return err
			}
			if s.Quantity != nil {
				return invalid(at+".universal", "must not be set together with quantity")
			}
		}
		if s.Quantity == nil {
			continue
		}
		if err := member(at+".quantity.op", s.Quantity.Op, comparisons); err != nil {
			return err
		}
		if s.Quantity.Value < 0 || s.Quantity.Value > maxQuantity {
			return invalid(at+".quantity.value", "must be 0 to %d", maxQuantity)
		}
	}
	return nil
}

func checkConditions(q Query) error {
	if len(q.Conditions) > maxConditions {
		return invalid("conditions", "must have at most %d conditions", maxConditions)
	}
	for i, c := range q.Conditions {
		at := "conditions." + strconv.Itoa(i)
		if !slices.ContainsFunc(q.Subjects, func(s Subject) bool { return s.ID == c.Subject }) {
			return invalid(at+".subject", "must be the id of a subject")
		}
		if err := member(at+".kind", c.Kind, kinds); err != nil {
			return err
		}
		if err := text(at+".value", c.Value, maxTextLen); err != nil {
			return err
		}
	}
	return nil
}

// checkGroups checks that the last group has each subject and each other group once.
func checkGroups(q Query) error {
	if len(q.Groups) == 0 {
		return nil
	}
	if len(q.Groups) > maxGroups {
		return invalid("groups", "must have at most %d groups", maxGroups)
	}
	if q.Negated || q.Operator != All {
		return invalid("groups", "must not be set together with negated or the operator any")
	}
	free := map[string]bool{} // the ids that no group has yet
	for _, s := range q.Subjects {
		free[s.ID] = true
	}
	for i, g := range q.Groups {
		at := "groups." + strconv.Itoa(i)
		if err := checkGroup(g, at, free); err != nil {
			return err
		}
		free[g.ID] = true
	}
	if len(free) > 1 {
		return invalid("groups", "must have every subject and every group in the last one")
	}
	return nil
}

// checkGroup removes the members of a group from the free ids.
func checkGroup(g Group, at string, free map[string]bool) error {
	if !groupID.MatchString(g.ID) || free[g.ID] {
		return invalid(at+".id", "must be unique and match %s", groupID)
	}
	if err := member(at+".op", g.Op, groupOps); err != nil {
		return err
	}
	least, most := 2, 2
	switch g.Op {
	case GroupNot:
		least, most = 1, 1
	case GroupAnd, GroupOr:
		most = maxSubjects
	default: // two members
	}
	if n := len(g.Of); n < least || n > most {
		return invalid(at+".of", "must have %d to %d members for %s", least, most, g.Op)
	}
	for i, id := range g.Of {
		if !free[id] || g.Op == GroupMore && !subjectID.MatchString(id) {
			return invalid(at+".of."+strconv.Itoa(i), "must be a subject, or for most operators an earlier group, that no other group has")
		}
		delete(free, id)
	}
	return nil
}

func checkTerms(q Query) error {
	if len(q.SearchTerms) > maxTerms {
		return invalid("search_terms", "must have at most %d terms", maxTerms)
	}
	for i, t := range q.SearchTerms {
		at := "search_terms." + strconv.Itoa(i)
		if err := text(at, t, maxTermLen); err != nil {
			return err
		}
		if slices.Contains(q.SearchTerms[:i], t) {
			return invalid(at, "must be unique, but %q is listed twice", t)
		}
	}
	for _, s := range q.Subjects {
		if !slices.Contains(q.SearchTerms, s.Term) {
			return invalid("search_terms", "must include the term of every subject, but %q is missing", s.Term)
		}
	}
	return nil
}

func checkUnassessable(q Query) error {
	if len(q.UnassessableComponents) > maxConditions {
		return invalid("unassessable_components", "must have at most %d components", maxConditions)
	}
	for i, u := range q.UnassessableComponents {
		at := "unassessable_components." + strconv.Itoa(i)
		if err := member(at+".kind", u.Kind, obstacles); err != nil {
			return err
		}
		if err := text(at+".text", u.Text, maxTextLen); err != nil {
			return err
		}
	}
	return nil
}

// checkIntent checks the fields that each intent needs, so that the packages that read a Query
// never get a contradiction.
func checkIntent(q Query) error {
	if (q.PromptIntent == OpenEnded) != (q.QueryType == TypeOpenEnded) {
		return invalid("query_type", "must be open_ended when prompt_intent is open_ended, and only then")
	}
	if (q.PromptIntent == Compound) != (q.QueryType == TypeCompound) {
		return invalid("query_type", "must be compound when prompt_intent is compound, and only then")
	}
	switch q.PromptIntent {
	case OpenEnded:
		return nil
	case Compound:
		if len(q.Subjects) < 2 && len(q.Groups) == 0 {
			return invalid("subjects", "must have at least two subjects for prompt_intent compound")
		}
		return nil
	case Segment:
		if len(q.Subjects) == 0 {
			return invalid("subjects", "must have at least one subject for prompt_intent segment")
		}
		return nil
	case Count:
		if len(q.Subjects) == 0 {
			return invalid("subjects", "must have at least one subject for prompt_intent count")
		}
		return checkSingle(q)
	default: // exactly one subject
	}
	if len(q.Subjects) != 1 {
		return invalid("subjects", "must have exactly one subject for prompt_intent %s", q.PromptIntent)
	}
	return checkSingle(q)
}

// checkSingle checks the intents that have exactly one subject.
func checkSingle(q Query) error {
	quantity := q.Subjects[0].Quantity
	switch q.PromptIntent {
	case Presence, Absence, Count:
		if quantity != nil && len(q.Groups) == 0 && len(q.Subjects) == 1 && q.Asked() != AskTimes {
			return invalid("subjects.0.quantity", "must be null for prompt_intent %s", q.PromptIntent)
		}
	case CountThreshold:
		if quantity == nil {
			return invalid("subjects.0.quantity", "is required for prompt_intent count_threshold")
		}
	case Action, Attribute, Location, State:
		if !slices.ContainsFunc(q.Conditions, func(c Condition) bool { return string(c.Kind) == string(q.PromptIntent) }) {
			return invalid("conditions", "must include a condition of the kind %s for that prompt_intent", q.PromptIntent)
		}
	default: // checkIntent checks the other intents
	}
	switch q.PromptIntent {
	case Absence:
		if !q.Negated {
			return invalid("negated", "must be true for prompt_intent absence")
		}
	case Presence, Count, CountThreshold:
		if q.Negated {
			return invalid("negated", "must be false for prompt_intent %s", q.PromptIntent)
		}
	default: // the other intents allow both values
	}
	return nil
}

func text(param, value string, limit int) error {
	switch n := utf8.RuneCountInString(value); {
	case strings.TrimSpace(value) == "":
		return invalid(param, "must not be empty")
	case n > limit:
		return invalid(param, "must have at most %d characters", limit)
	}
	return nil
}

func member[T ~string](param string, value T, allowed []T) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = string(a)
	}
	return invalid(param, "must be one of %s", strings.Join(names, ", "))
}
