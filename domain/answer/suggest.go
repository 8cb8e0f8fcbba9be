package answer

import (
	"vqa/domain/query"
	"vqa/domain/query/english"
	"vqa/domain/query/vocabulary"
)

// Suggestions returns one to three questions that are answered, in place of one that is not. It returns none only for
// a vocabulary without a word of ours.
func Suggestions(q query.Query, known vocabulary.Vocabulary) []string {
	return english.Suggestions(q, known, Assessable)
}
