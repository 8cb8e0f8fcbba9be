package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"vqa/domain/answer"
	"vqa/domain/model"
	"vqa/domain/query"
	"vqa/domain/query/vocabulary"
)

// unknownTo returns the terms of the subjects that a model does not know, each once. It returns
// no terms for a model that accepts any term, or while the vocabulary is not known.
func (s *Service) unknownTo(ctx context.Context, m model.Model, q query.Query) []string {
	if m.Capabilities.OpenVocabulary {
		return nil
	}
	terms := m.Capabilities.Vocabulary
	if s.Vocabulary != nil {
		listed, ok := s.Vocabulary(ctx)
		if !ok {
			return nil
		}
		terms = listed
	}
	if len(terms) == 0 {
		return nil
	}
	known := vocabulary.Of(terms)
	var unknown []string
	for _, subject := range q.Subjects {
		if _, ok := known.Lookup(subject.Term); !ok && !slices.Contains(unknown, subject.Term) {
			unknown = append(unknown, subject.Term)
		}
	}
	return unknown
}

// knowsNoSubject reports whether the model knows no subject of the query. Examining the video is
// then useless. One known subject is enough to examine it. A video without a dog answers "a dog
// and a unicorn". A video with a dog answers "a dog or a unicorn".
func (r analysisRequest) knowsNoSubject() bool {
	return len(r.Query.Subjects) > 0 && !slices.ContainsFunc(r.Query.Subjects, func(s query.Subject) bool {
		return !slices.Contains(r.unknown, s.Term)
	})
}

// answerable reports whether examining the video could answer the query.
func (s *Service) answerable(r analysisRequest) bool {
	return s.assessable(r.Query) && !r.knowsNoSubject()
}

// note says why the prompt gets no answer or only a partial one. It is empty otherwise.
func (s *Service) note(r analysisRequest) string {
	quoted := make([]string, len(r.unknown))
	for i, term := range r.unknown {
		quoted[i] = fmt.Sprintf("%q", term)
	}
	unknown := fmt.Sprintf("The model %s does not know %s. GET /v1/models lists the terms that it knows.", r.Model, strings.Join(quoted, ", "))
	switch {
	case !s.assessable(r.Query):
		return answer.Refused(r.Query).UnsupportedAction.Reason
	case r.knowsNoSubject():
		return unknown + " The analysis completes at once as indeterminate, with the reason nothing_detected, and is not billed."
	case len(r.unknown) > 0:
		return unknown + " The answer is indeterminate unless the other subjects decide it."
	default:
		return ""
	}
}
