package answer

import (
	"fmt"
	"strings"

	"vqa/domain/query"
)

// inWords says a statement.
func inWords(s query.Statement) string {
	switch s := s.(type) {
	case query.Is:
		return "a " + phrase(s.Thing)
	case query.Number:
		return fmt.Sprintf("%s %d of %q", comparisons[s.Quantity.Op], s.Quantity.Value, phrase(s.Thing))
	case query.Share:
		return fmt.Sprintf("%s of %q: %s", s.Which, phrase(s.Thing), strings.Join(inEach(s.Conditions, conditionInWords), ", "))
	case query.More:
		return fmt.Sprintf("more of %q than of %q", phrase(s.Thing), phrase(s.Than))
	case query.And:
		return strings.Join(inEach(s.Of, inWords), " and ")
	case query.Or:
		return strings.Join(inEach(s.Of, inWords), " or ")
	case query.Not:
		return "not: " + inWords(s.Of)
	case query.Order:
		return inWords(s.First) + " " + string(s.Sequence) + " " + inWords(s.Other)
	}
	return ""
}

var comparisons = map[query.Comparison]string{
	query.Equal: "exactly", query.AtLeast: "at least", query.MoreThan: "more than", query.FewerThan: "fewer than", query.AtMost: "at most",
}

// phrase says a thing, without an article: "red dog leaving toward right".
func phrase(t query.Thing) string {
	before, after := "", ""
	for _, c := range t.Conditions {
		_, sized := c.Size()
		if _, colored := c.Colors(); (colored || sized) && !c.Negated {
			before += c.Value + " "
		} else {
			after += " " + conditionInWords(c)
		}
	}
	return before + t.Term + after
}

// conditionInWords says a condition of a thing.
func conditionInWords(c query.Condition) string {
	words := c.Value
	if _, place := c.Place(); place {
		words = "at the " + words
	}
	if c.Negated {
		words = "not " + words
	}
	return words
}

func inEach[T any](of []T, words func(T) string) []string {
	var out []string
	for _, s := range of {
		out = append(out, words(s))
	}
	return out
}

// text says how an answer came about.
func (t *tracer) text(q query.Query) string {
	r := t.out.Ruling
	if t.UnsupportedAction != nil {
		return t.UnsupportedAction.Reason
	}
	if r.Statement < 0 {
		return "No frame was examined."
	}
	s := t.out.Statements[r.Statement]
	text := fmt.Sprintf("%q is most probable from %.2f to %.2f s, with a mean of %.2f.", s.Text, r.At.StartS, r.At.EndS, r.At.Probability)
	if t.question.Always {
		text = strings.Replace(text, "most probable", "least probable", 1)
	}
	if r.Weakest != "" {
		text += fmt.Sprintf(" The weakest part then is %q.", r.Weakest)
	}
	switch {
	case t.Undecided != "" && t.ruling.answer != Indeterminate:
		return text + " " + t.Undecided
	case t.Answer == Indeterminate:
		text += fmt.Sprintf(" That is between %.2f and %.2f (doubt), so the answer is indeterminate.", t.cal.Doubt[0], t.cal.Doubt[1])
	case r.Decided != nil:
		text += fmt.Sprintf(" A statement holds from %.2f (%s) on, so the answer is %s.", r.Decided.Value, r.Decided.Name, Word(q.PromptIntent, t.Answer, t.DetectedCount))
	}
	if r.Bounded != nil {
		text += fmt.Sprintf(" The confidence is at most %.2f (%s).", r.Bounded.Value, r.Bounded.Name)
	}
	return text
}
