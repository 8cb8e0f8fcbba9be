package english

import (
	"slices"
	"strings"

	"vqa/domain/query"
	"vqa/domain/query/vocabulary"
)

const (
	// maxSuggestions bounds Suggestions.
	maxSuggestions = 3
	// maxLeftOut is the longest run of words that NotUnderstood leaves out, and maxTried the longest question,
	// in words, for which it tries: it reads the question once for each run.
	maxLeftOut, maxTried = 4, 24
)

// usualTerms are suggested when nothing in the question is known, if the model knows them.
var usualTerms = []string{"person", "car", "dog"}

// Several reports whether a prompt asks two questions, or can be read in two ways.
func Several(prompt string) bool { return len(read(prompt).others) > 0 }

// NotUnderstood returns the shortest run of words without which a prompt would be understood, and the
// prompt without it. ok is false when there is no such run.
func NotUnderstood(prompt string) (words, rest string, ok bool) {
	return leaveOut(prompt, func(q query.Query) bool { return q.PromptIntent != query.OpenEnded })
}

func leaveOut(prompt string, good func(query.Query) bool) (words, rest string, ok bool) {
	all := strings.Fields(strings.TrimRight(strings.TrimSpace(prompt), "?.! "))
	if len(all) > maxTried {
		return "", "", false
	}
	for n := 1; n <= min(maxLeftOut, len(all)-1); n++ {
		for i := len(all) - n; i >= 0; i-- { // the cause is rarely the beginning of a question
			shorter := strings.Join(slices.Delete(slices.Clone(all), i, i+n), " ") + "?"
			if good(Compile(shorter)) {
				return strings.Join(all[i:i+n], " "), shorter, true
			}
		}
	}
	return "", "", false
}

// Suggestions returns one to three questions that are answered, in place of one that is not: the readings
// of an ambiguous question, or questions as close to it as its words allow. It returns none only for a
// vocabulary without a word of ours. assessable reports whether the form of a question is answered.
func Suggestions(q query.Query, known vocabulary.Vocabulary, assessable func(query.Query) bool) []string {
	answered := func(q query.Query) bool {
		return assessable(q) && (known.Open() || !slices.ContainsFunc(q.Subjects, func(s query.Subject) bool {
			_, ok := known.Lookup(s.Term)
			return !ok
		}))
	}
	var all []string
	add := func(question string) {
		if question != "" && len(all) < maxSuggestions && !slices.Contains(all, question) && answered(Compile(question)) {
			all = append(all, question)
		}
	}
	subjects := q.Subjects
	if prompt := q.OriginalPrompt; prompt != nil {
		for _, other := range read(*prompt).others {
			add(say(other))
			subjects = slices.Concat(subjects, other.Subjects)
		}
		if _, rest, ok := leaveOut(*prompt, answered); ok && len(all) == 0 {
			shorter := Compile(rest)
			if said := say(shorter); said != "" {
				rest = said
			}
			add(rest)
			subjects = slices.Concat(subjects, shorter.Subjects)
		}
		if len(subjects) == 0 {
			subjects = nounsIn(*prompt)
		}
	}
	for _, s := range subjects {
		add("Is there " + article(s.Term) + "?")
		add("When is " + article(s.Term) + " visible?")
	}
	for _, term := range append(slices.Clone(usualTerms), known.Names()...) {
		if len(all) > 0 {
			break
		}
		add("Is there " + article(term) + "?")
	}
	return all
}

// nounsIn returns the nouns of the tables that a prompt names.
func nounsIn(prompt string) []query.Subject {
	var out []query.Subject
	words := tokens(prompt)
	leaves := leavesOf(words)
	for end := len(words); end > 0; end-- {
		for _, l := range leaves(end) {
			if term, ok := l.value.(string); ok && l.sym == english.ids["N"] && vocabulary.Noun(term) {
				out = append(out, query.Subject{Term: term})
			}
		}
	}
	slices.Reverse(out)
	return out
}

func article(phrase string) string {
	if strings.ContainsRune("aeiou", rune(phrase[0])) {
		return "an " + phrase
	}
	return "a " + phrase
}

// say writes a question about one thing, or about things joined by one word. It returns "" for a question
// that it cannot write so that it is read in the same way.
func say(q query.Query) string {
	var things []string
	times := ""
	for _, s := range q.Subjects {
		thing, when := sayThing(s, q.Conditions)
		things = append(things, thing)
		times = when
	}
	joiner := map[query.Operator]string{query.All: " and ", query.Any: " or "}[q.Operator]
	text := strings.Join(things, joiner)
	switch q.Asked() {
	case query.AskCount:
		text = strings.TrimPrefix(strings.TrimPrefix(text, "an "), "a ")
		if len(q.Subjects) == 1 {
			text = strings.Replace(text, q.Subjects[0].Term, plural(q.Subjects[0].Term), 1)
		}
		text = "How many " + text + " are there"
	case query.AskWhen:
		text = "When is there " + text
	case query.AskWhether:
		text = map[bool]string{true: "Is there not ", false: "Is there "}[q.Negated] + text
	default: // other questions are not suggested
		return ""
	}
	text += times + "?"
	if same := Compile(text); !sameQuery(same, q) {
		return ""
	}
	return text
}

// plural is the plural of a noun, or the noun itself when that is not known.
func plural(term string) string {
	head, last := "", term
	if i := strings.LastIndexByte(term, ' '); i >= 0 {
		head, last = term[:i+1], term[i+1:]
	}
	if irregular := map[string]string{"person": "people", "child": "children"}[last]; irregular != "" {
		return head + irregular
	}
	form := last + "s"
	switch {
	case strings.HasSuffix(last, "man"):
		form = strings.TrimSuffix(last, "man") + "men"
	case strings.HasSuffix(last, "s"), strings.HasSuffix(last, "x"), strings.HasSuffix(last, "ch"), strings.HasSuffix(last, "sh"):
		form = last + "es"
	}
	if vocabulary.Singular(form) != last {
		return term
	}
	return head + form
}

// sameQuery compares what two queries ask, without their words and presuppositions.
func sameQuery(a, b query.Query) bool {
	for _, q := range []*query.Query{&a, &b} {
		q.OriginalPrompt = nil
		q.Subjects, q.Conditions = slices.Clone(q.Subjects), slices.Clone(q.Conditions)
		for i := range q.Subjects {
			q.Subjects[i].Presupposed = false
		}
		slices.SortFunc(q.Conditions, func(x, y query.Condition) int { return strings.Compare(x.Subject+x.Value, y.Subject+y.Value) })
		slices.Sort(q.SearchTerms)
	}
	return query.Digest(a) == query.Digest(b)
}

// comparisons are the words before a number.
var comparisons = map[query.Comparison]string{
	query.Equal: "exactly ", query.AtLeast: "at least ", query.AtMost: "at most ", query.MoreThan: "more than ", query.FewerThan: "fewer than ",
}

// sayThing writes one thing with its conditions, and its times.
func sayThing(s query.Subject, conditions []query.Condition) (thing, times string) {
	before, after := "", ""
	for _, c := range conditions {
		if c.Subject != s.ID {
			continue
		}
		not := map[bool]string{true: " not", false: ""}[c.Negated]
		switch _, color := c.Colors(); {
		case c.Kind == query.KindTime:
			times += " " + sayTime(c.Value)
		case color && !c.Negated:
			before += c.Value + " "
		case c.Kind == query.KindAttribute && strings.Contains(c.Value, " ") || c.Kind == query.KindAction:
			after += not + " " + c.Value
		case c.Kind == query.KindLocation && tables["exclusive"][strings.Fields(c.Value)[0]] != "" && !strings.Contains(c.Value, " of "):
			after += not + " on the " + c.Value
		case c.Kind == query.KindLocation:
			head, object := c.Split()
			if object != nil {
				after += not + " " + head + " " + article(strings.TrimPrefix(c.Value, head+" "))
			} else {
				after += not + " in the " + c.Value
			}
		default:
			after += " that is" + not + " " + c.Value
		}
	}
	if s.Quantity != nil {
		words := map[int]string{0: "no "}[s.Quantity.Value]
		if words == "" {
			words = comparisons[s.Quantity.Op] + clockText(float64(s.Quantity.Value)) + " "
		}
		return words + before + s.Term + after, times
	}
	return article(before + s.Term + after), times
}

// sayTime writes a time condition.
func sayTime(value string) string {
	seconds := strings.TrimSuffix(value, " s") + " seconds"
	switch first, _, _ := strings.Cut(value, " "); {
	case first == "first" && value != "first half", first == "last":
		return "in the " + seconds
	case first == "after", first == "before", first == "at":
		return seconds
	case strings.HasSuffix(value, " s"):
		return "from " + seconds
	case strings.HasSuffix(value, " half"):
		return "in the " + value
	case value == "middle":
		return "in the middle of the video"
	}
	return "at the " + value
}
