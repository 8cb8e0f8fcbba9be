package answer

import (
	"slices"

	"vqa/domain/answer/predicate"
	"vqa/domain/query"
	"vqa/domain/query/vocabulary"
)

// Assessable reports whether q is answered with yes, no or a number today. It does not look at the terms:
// one that the model does not know makes the answer indeterminate.
func Assessable(q query.Query) bool {
	typed, ok := q.Question()
	return ok && !slices.ContainsFunc(q.Conditions, func(c query.Condition) bool { return !assesses(q, c) }) && answers(typed)
}

// answers reports whether a question of a form is answered. What happens at an instant is never seen of
// several things together, so it cannot be counted.
func answers(q query.Question) bool {
	counted := func(s query.Statement) bool {
		return !slices.ContainsFunc(query.Things(s), func(t query.Thing) bool { return needsOf(t).passes })
	}
	switch s := q.Body.(type) {
	case query.Number:
		return counted(s)
	case query.And:
		return q.Ask != query.AskCount || union(s.Of) && counted(s)
	case query.Or:
		return q.Ask != query.AskCount || union(s.Of) && counted(s)
	case query.Is:
		return q.Ask != query.AskCount || counted(s)
	default:
		return q.Ask != query.AskCount
	}
}

func union(of []query.Statement) bool {
	return !slices.ContainsFunc(of, func(s query.Statement) bool { _, is := s.(query.Is); return !is })
}

// assesses reports whether an answer can tell whether c holds.
func assesses(q query.Query, c query.Condition) bool {
	if c.Kind == query.KindTime {
		_, ok := c.Window()
		return ok && !c.Negated
	}
	i := slices.IndexFunc(q.Subjects, func(s query.Subject) bool { return s.ID == c.Subject })
	if i < 0 {
		return false
	}
	row, _, ok := predicate.Find(c, subjectClasses(q.Subjects[i].Term))
	if !ok || !row.Object {
		return ok
	}
	_, object := c.Split()
	if object == nil {
		return false
	}
	_, known := vocabulary.COCO().Lookup(object.Term)
	return (known || slices.Contains(q.SearchTerms, object.Term)) && !slices.ContainsFunc(object.Conditions, func(c query.Condition) bool {
		_, _, ok := predicate.Find(c, nil)
		return !ok
	})
}

// subjectClasses are the classes by which a predicate decides whether it is about a term.
func subjectClasses(term string) []string {
	classes, _ := vocabulary.COCO().Lookup(term)
	return classes
}

// needs are those of all predicates of a question.
type needs struct {
	predicate.Needs
	passes bool
}

func needsOf(t query.Thing) needs {
	var n needs
	for _, c := range t.Conditions {
		row, _, ok := predicate.Find(c, subjectClasses(t.Term))
		if !ok {
			continue
		}
		n.Pose, n.Colors = n.Pose || row.Needs.Pose, n.Colors || row.Needs.Colors
		n.PerSecond, n.Seconds = max(n.PerSecond, row.Needs.PerSecond), max(n.Seconds, row.Needs.Seconds)
		n.passes = n.passes || row.Moment && row.Needs.PerSecond == 0
	}
	return n
}

// Needs are what must be examined for an answer to q beside boxes; none for a query that is not
// [Assessable].
func Needs(q query.Query) predicate.Needs {
	var all predicate.Needs
	typed, ok := q.Question()
	if !ok || !Assessable(q) {
		return all
	}
	for _, t := range query.Things(typed.Body) {
		n := needsOf(t)
		all.Pose, all.Colors, all.PerSecond = all.Pose || n.Pose, all.Colors || n.Colors, max(all.PerSecond, n.PerSecond)
		all.Seconds = max(all.Seconds, n.Seconds)
	}
	return all
}

// NeedsPose reports whether an answer to q needs the body joints of people.
func NeedsPose(q query.Query) bool { return Needs(q).Pose }

// NeedsDenseSamples reports whether an answer to q needs more than the samples.
func NeedsDenseSamples(q query.Query) bool { return Needs(q).PerSecond > 0 }

// Unsupported returns the reason to report for a query that is not [Assessable].
func Unsupported(q query.Query) query.Reason {
	for _, c := range q.Conditions {
		if c.Kind == query.KindAction && q.PromptIntent != query.OpenEnded && !assesses(q, c) {
			return query.UnsupportedActionTerm
		}
	}
	return query.UnsupportedQueryForm
}
