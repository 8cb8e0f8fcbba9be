package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/answer/predicate"
	"vqa/domain/query"
	"vqa/domain/query/english"
	"vqa/domain/query/vocabulary"
)

// TestPageIsCurrent checks that docs/questions.md was written from the rows as they are now.
func TestPageIsCurrent(t *testing.T) {
	t.Parallel()
	written, err := os.ReadFile("../../../../docs/questions.md")
	require.NoError(t, err)
	again, err := rewritten(written)
	require.NoError(t, err)
	require.Equal(t, string(again), string(written), "run go generate ./domain/answer/predicate")
	_, err = rewritten([]byte("# Without parts\n"))
	require.Error(t, err)
}

// TestEveryRowHasAnExample compiles each example: it is answered, by the predicate of its row.
func TestEveryRowHasAnExample(t *testing.T) {
	t.Parallel()
	for _, r := range predicate.Rows {
		q := english.Compile(r.Example)
		if !assert.True(t, answer.Assessable(q), "%q of %s", r.Example, r.Form) {
			continue
		}
		typed, _ := q.Question()
		found := false
		for _, thing := range query.Things(typed.Body) {
			classes, _ := vocabulary.COCO().Lookup(thing.Term)
			for _, c := range thing.Conditions {
				row, _, ok := predicate.Find(c, classes)
				found = found || ok && row.Form == r.Form
			}
		}
		assert.True(t, found, "%q has the conditions %v, none of which is %s", r.Example, q.Conditions, r.Form)
	}
}

// TestEveryAskHasAnExample compiles each example: it is answered, and asks what its row says.
func TestEveryAskHasAnExample(t *testing.T) {
	t.Parallel()
	for _, a := range asks {
		q := english.Compile(a.example)
		assert.True(t, answer.Assessable(q), "%q: %s", a.example, answer.Refused(q).UnsupportedAction.Reason)
		typed, ok := q.Question()
		assert.True(t, ok && asked(typed)[a.name], "%q asks for %v, not %s", a.example, asked(typed), a.name)
	}
}

// asked are the names of what a question asks.
func asked(q query.Question) map[string]bool {
	names := map[string]bool{string(q.Ask): true, "always": q.Always, "within": len(q.Within) > 0}
	switch s := q.Body.(type) {
	case query.Not:
		names["not"] = true
	case query.Number:
		names["number"] = true
	case query.Share:
		names[string(s.Which)] = true
	case query.And:
		names["and"] = true
	case query.Or:
		names["or"] = true
	case query.Order:
		names[string(s.Sequence)] = true
	case query.More:
		names["more"] = true
	}
	return names
}

// TestRefusedQuestionsAreRefused compiles each counterexample.
func TestRefusedQuestionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, q := range refused {
		assert.False(t, answer.Assessable(english.Compile(q)), q)
	}
}
