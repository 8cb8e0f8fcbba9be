package query

import "slices"

// Assessable reports whether this service can answer the form of q with yes, no or
// a count today. Whether the model knows the terms is another matter: an unknown
// term makes the answer indeterminate.
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

// assesses reports whether an answer can tell if c holds.
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
		_, coloured := c.Colors()
		_, sized := c.Size()
		_, _, worn := c.Worn()
		return coloured || sized || worn && q.classesWithin(c.Subject, personClass)
	case KindAction:
		if h, _, ok := c.Occurrence(); ok {
			return q.assessesOccurrence(c.Subject, h)
		}
		_, held := c.Posture()
		gait, moves := c.Movement()
		return (held || moves) && q.classesWithin(c.Subject, personClass) || gait == Running && q.classesWithin(c.Subject, groundAnimals) || gait == Moving
	default:
		return false
	}
}

// assessesOccurrence reports whether an answer can tell that something happens to a subject. How many
// come and go is not what is seen at one time.
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

// person is the only class that has joints; animals are those that run on the ground.
var (
	personClass   = set("person")
	groundAnimals = set("cat dog horse sheep cow elephant bear zebra giraffe")
)

// classesWithin reports whether all classes of a subject are among some.
func (q Query) classesWithin(subject string, among map[string]bool) bool {
	for _, s := range q.Subjects {
		if s.ID == subject {
			classes, ok := coco.Lookup(s.Term)
			return ok && !slices.ContainsFunc(classes, func(c string) bool { return !among[c] })
		}
	}
	return false
}

// NeedsPose reports whether an answer to q needs the joints of people.
func NeedsPose(q Query) bool {
	return Assessable(q) && slices.ContainsFunc(q.Conditions, func(c Condition) bool {
		_, held := c.Posture()
		gait, _ := c.Movement()
		if h, _, ok := c.Occurrence(); ok {
			return h == Jumping && q.classesWithin(c.Subject, personClass)
		}
		return held || gait == Walking || c.OnGround(q) // in a still picture the feet tell
	})
}

// Unsupported returns the reason for which a query that is not [Assessable] is
// refused.
func Unsupported(q Query) Reason {
	for _, c := range q.Conditions {
		if c.Kind == KindAction && q.PromptIntent != OpenEnded && !q.assesses(c) {
			return UnsupportedActionTerm
		}
	}
	return UnsupportedQueryForm
}
