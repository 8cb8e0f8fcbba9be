package query

import (
	"slices"

	"vqa/domain/query/vocabulary"
)

// Assessable reports whether the service can answer the form of q with yes, no or a count
// today. It does not look at the terms: a term that the model does not know makes the answer
// indeterminate.
func Assessable(q Query) bool {
	switch q.PromptIntent {
	case Presence, Absence, Count, Attribute, Location, Action:
		if len(q.Subjects) != 1 {
			return false
		}
	case CountThreshold:
		if len(q.Subjects) != 1 || q.Subjects[0].Quantity == nil {
			return false
		}
	case Compound, Segment:
		if len(q.Subjects) == 0 {
			return false
		}
	default:
		return false
	}
	return !slices.ContainsFunc(q.Conditions, func(c Condition) bool { return !q.assesses(c) })
}

// assesses reports whether an answer can tell whether c holds.
func (q Query) assesses(c Condition) bool {
	if _, _, ok := c.Relation(q); ok {
		return true
	}
	switch c.Kind {
	case KindTime:
		_, ok := c.Window()
		return ok && !c.Negated
	case KindLocation:
		_, ok := c.Place()
		return ok
	case KindAttribute:
		_, colored := c.Colors()
		_, sized := c.Size()
		_, _, worn := c.Worn()
		return colored || sized || worn && q.classesWithin(c.Subject, personClass)
	case KindAction:
		if h, _, ok := c.Occurrence(); ok {
			return q.assessesOccurrence(c.Subject, h)
		}
		_, held := c.Posture()
		movement, moves := c.Movement()
		return (held || moves) && q.classesWithin(c.Subject, personClass) || movement == Running && q.classesWithin(c.Subject, groundAnimals) || movement == Moving
	default:
		return false
	}
}

// assessesOccurrence reports whether an answer can tell that h happens to a subject. Entering
// and leaving cannot be counted: objects that enter one after the other are never all visible
// at one time.
func (q Query) assessesOccurrence(subject string, h Occurrence) bool {
	switch h {
	case Jumping:
		return q.classesWithin(subject, personClass) || q.classesWithin(subject, groundAnimals)
	case Falling:
		return q.classesWithin(subject, personClass)
	default:
		return q.PromptIntent != Count && !slices.ContainsFunc(q.Subjects, func(s Subject) bool { return s.ID == subject && s.Quantity != nil })
	}
}

// personClass is the only class with body joints. groundAnimals are the classes of animals that
// run on the ground.
var (
	personClass   = set("person")
	groundAnimals = set("cat dog horse sheep cow elephant bear zebra giraffe")
)

// classesWithin reports whether every class of a subject is in the set.
func (q Query) classesWithin(subject string, among map[string]bool) bool {
	for _, s := range q.Subjects {
		if s.ID == subject {
			classes, ok := vocabulary.COCO().Lookup(s.Term)
			return ok && !slices.ContainsFunc(classes, func(c string) bool { return !among[c] })
		}
	}
	return false
}

// NeedsPose reports whether an answer to q needs the body joints of people.
func NeedsPose(q Query) bool {
	return Assessable(q) && slices.ContainsFunc(q.Conditions, func(c Condition) bool {
		_, held := c.Posture()
		movement, _ := c.Movement()
		if h, _, ok := c.Occurrence(); ok {
			return h == Jumping && q.classesWithin(c.Subject, personClass)
		}
		// In a single frame, only the feet show whether somebody walks or is on the ground.
		return held || movement == Walking || c.OnGround(q)
	})
}

// Unsupported returns the reason to report for a query that is not [Assessable].
func Unsupported(q Query) Reason {
	for _, c := range q.Conditions {
		if c.Kind == KindAction && q.PromptIntent != OpenEnded && !q.assesses(c) {
			return UnsupportedActionTerm
		}
	}
	return UnsupportedQueryForm
}
