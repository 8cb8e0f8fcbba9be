package english

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"vqa/domain/query"
)

const (
	maxPrompt = 2000
	maxRead   = 34
	maxTokens = 100
	maxNumber = 1_000_000
	// maxCost is the cost of the least usual wording that is understood.
	maxCost = 7
)

// actions are the meanings of rules by their names in grammar.txt.
var actions = func() map[string]func(*args) any {
	out := map[string]func(*args) any{}
	for _, m := range []map[string]func(*args) any{thingActions, numberActions, predicateActions, clothesActions, clauseActions, askActions, timeActions} {
		maps.Copy(out, m)
	}
	return out
}()

// Compile turns a prompt into a query.
func Compile(prompt string) query.Query {
	prompt = strings.ToValidUTF8(prompt, "\uFFFD")
	if utf8.RuneCountInString(prompt) > maxPrompt {
		prompt = string([]rune(prompt)[:maxPrompt])
	}
	r := read(prompt)
	q := r.query
	if strings.TrimSpace(prompt) != "" {
		q.OriginalPrompt = &prompt
	}
	return q
}

// reading is what a prompt means.
type reading struct {
	query query.Query
	// others are the readings of a prompt that can be read in several ways, or that asks several questions.
	others []query.Query
}

func openEnded(parts []query.Unassessable) query.Query {
	return query.Query{
		SchemaVersion: query.SchemaVersion, PromptIntent: query.OpenEnded, QueryType: query.TypeOpenEnded, Operator: query.All,
		Subjects: []query.Subject{}, Conditions: []query.Condition{}, SearchTerms: []string{}, UnassessableComponents: parts,
	}
}

func read(prompt string) reading {
	words := tokens(prompt)
	for len(words) > 0 && slices.Contains([]string{".", ",", "-"}, words[len(words)-1].w) {
		words = words[:len(words)-1]
	}
	words = shortened(words)
	if len(words) == 0 || len(words) > maxRead {
		return reading{query: openEnded([]query.Unassessable{})}
	}
	var found []query.Query
	best := 0
	for _, t := range english.parse(words, leavesOf(words), english.ids["S"]) {
		q, ok := t.value.(question)
		if c, clause := t.value.(clause); clause {
			q, ok = question{ask: query.AskWhether, clause: c}, true
		}
		if !ok || t.cost > maxCost {
			continue
		}
		if len(found) > 0 && t.cost > best {
			break
		}
		if len(q.others) > 0 {
			var others []query.Query
			for _, o := range q.others {
				if c, ok := o.encode(); ok {
					others = append(others, c)
				}
			}
			return reading{query: openEnded([]query.Unassessable{}), others: others}
		}
		c, ok := q.encode()
		if ok && !slices.ContainsFunc(found, func(f query.Query) bool { return query.Digest(f) == query.Digest(c) }) {
			found, best = append(found, c), t.cost
		}
	}
	switch {
	case len(found) == 0:
		return reading{query: openEnded(obstaclesIn(words))}
	case len(found) > 1:
		return reading{query: openEnded([]query.Unassessable{}), others: found}
	}
	return reading{query: found[0]}
}

// shortened drops sentences of politeness at the beginning of a prompt that is too long to be read.
func shortened(words []token) []token {
	for len(words) > maxRead {
		end := slices.IndexFunc(words, func(t token) bool { return t.w == "." })
		if end < 0 || end >= maxRead || english.parse(words[:end], leavesOf(words[:end]), english.ids["Before"]) == nil {
			return words
		}
		words = words[end+1:]
	}
	return words
}
