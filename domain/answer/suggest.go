package answer

import (
	"slices"
	"strings"

	"vqa/domain/query"
	"vqa/domain/query/vocabulary"
)

const (
	// maxSuggestions bounds Suggestions.
	maxSuggestions = 3
	// maxLeftOut is the longest run of words that is left out of a question to find out which words were not
	// understood, and maxTried the longest question, in words, for which this is tried: it compiles the
	// question once for each run.
	maxLeftOut, maxTried = 3, 20
)

// usualTerms are suggested when nothing in the question is known, if the model knows them.
var usualTerms = []string{"person", "car", "dog"}

// askLeads begin a question that stays good English when some of its words are left out.
var askLeads = []string{"is there ", "are there ", "how many "}

// Suggestions returns one to three questions that are answered, in place of one that is not. They are as close to
// it as its words allow. It returns none only for a vocabulary without a word of ours.
func Suggestions(q query.Query, known vocabulary.Vocabulary) []string {
	var all []string
	add := func(question string) {
		if len(all) < maxSuggestions && !slices.Contains(all, question) && answered(query.Compile(question), known) {
			all = append(all, question)
		}
	}
	subjects := q.Subjects
	if shorter, _, ok := leaveOut(q, known); ok {
		lower := strings.ToLower(shorter)
		if slices.ContainsFunc(askLeads, func(lead string) bool { return strings.HasPrefix(lower, lead) }) {
			add(shorter)
		}
		subjects = append(slices.Clone(subjects), query.Compile(shorter).Subjects...)
	}
	for _, s := range subjects {
		add("Is there " + article(s.Term) + " " + s.Term + "?")
		add("When is " + article(s.Term) + " " + s.Term + " visible?")
	}
	for _, term := range append(slices.Clone(usualTerms), known.Names()...) {
		if len(all) > 0 {
			break
		}
		add("Is there " + article(term) + " " + term + "?")
	}
	return all
}

// answered reports whether a query has an assessable form and only subjects that the model knows.
func answered(q query.Query, known vocabulary.Vocabulary) bool {
	return Assessable(q) && (known.Open() || !slices.ContainsFunc(q.Subjects, func(s query.Subject) bool {
		_, ok := known.Lookup(s.Term)
		return !ok
	}))
}

// leaveOut returns the question of q without the shortest run of words that keeps it from being answered, and that
// run. ok is false when there is no such run.
func leaveOut(q query.Query, known vocabulary.Vocabulary) (question, words string, ok bool) {
	if q.OriginalPrompt == nil {
		return "", "", false
	}
	text := strings.TrimRight(strings.TrimSpace(*q.OriginalPrompt), "?.! ")
	all := strings.Fields(text)
	if len(all) > maxTried {
		return "", "", false
	}
	for n := 1; n <= min(maxLeftOut, len(all)-1); n++ {
		for i := len(all) - n; i >= 0; i-- { // the cause is rarely the beginning of a question
			shorter := strings.Join(slices.Delete(slices.Clone(all), i, i+n), " ") + "?"
			if answered(query.Compile(shorter), known) {
				return shorter, strings.Join(all[i:i+n], " "), true
			}
		}
	}
	return "", "", false
}

func article(term string) string {
	if strings.ContainsRune("aeiou", rune(term[0])) {
		return "an"
	}
	return "a"
}
