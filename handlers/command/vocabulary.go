package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"vqa/domain/answer"
	"vqa/domain/model"
	"vqa/domain/query"
)

// unknownTo returns the terms of the subjects that a model does not know, each once. It returns
// none for a model that takes any term, and while nobody can say what the model knows.
func (s *Service) unknownTo(ctx context.Context, m model.Model, q query.Query) []string {
	if m.Capabilities.OpenVocabulary {
		return nil
	}
	terms := m.Capabilities.Vocabulary
	if s.Vocabulary != nil {
		told, ok := s.Vocabulary(ctx)
		if !ok {
			return nil
		}
		terms = told
	}
	if len(terms) == 0 {
		return nil
	}
	vocabulary := query.VocabularyOf(terms)
	var unknown []string
	for _, subject := range q.Subjects {
		if _, ok := vocabulary.Lookup(subject.Term); !ok && !slices.Contains(unknown, subject.Term) {
			unknown = append(unknown, subject.Term)
		}
	}
	return unknown
}

// nothingKnown reports whether the model knows none of the subjects, so that a look at the video
// could tell nothing. One known subject is enough to look: a dog that is absent answers "a dog and a
// unicorn", and one that is there "a dog or a unicorn".
func (o question) nothingKnown() bool {
	return len(o.Query.Subjects) > 0 && !slices.ContainsFunc(o.Query.Subjects, func(s query.Subject) bool {
		return !slices.Contains(o.unknown, s.Term)
	})
}

// answerable reports whether a look at the video could answer a question.
func (s *Service) answerable(o question) bool { return s.assessable(o.Query) && !o.nothingKnown() }

// note tells in a preview why a question is not answered, or not whole; empty when it is.
func (s *Service) note(o question) string {
	quoted := make([]string, len(o.unknown))
	for i, term := range o.unknown {
		quoted[i] = fmt.Sprintf("%q", term)
	}
	unknown := fmt.Sprintf("The model %s does not know %s; GET /v1/models lists what it knows.", o.Model, strings.Join(quoted, ", "))
	switch {
	case !s.assessable(o.Query):
		return answer.Refused(o.Query).UnsupportedAction.Reason
	case o.nothingKnown():
		return unknown + " The analysis ends at once as indeterminate, with the reason nothing_detected, and is not billed."
	case len(o.unknown) > 0:
		return unknown + " The question is answered as far as its other subjects allow."
	default:
		return ""
	}
}
