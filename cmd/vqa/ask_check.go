package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"vqa/cmd/vqa/internal/client"
	"vqa/domain/answer"
	"vqa/domain/query"
	"vqa/handlers/intake/probe"
)

// checkFile refuses a file that the server would refuse after the upload, as far as its boxes show.
// It leaves the file at its start.
func checkFile(file io.ReadSeeker) error {
	_, err := probe.Inspect(file)
	_, back := file.Seek(0, io.SeekStart)
	return errors.Join(err, back)
}

// refusal checks a question before the upload. It returns the refusal that the question would get
// about any video, or nil when the server has to analyze the video. With --json or --narrative it
// returns nil, because these need an analysis.
func (s *session) refusal(ctx context.Context, o askOptions, prompt string) (*client.Analysis, error) {
	q, ok, err := s.Parse(ctx, prompt)
	if err != nil || !ok || o.json || o.narrative {
		return nil, err
	}
	vocabulary := s.Vocabulary(ctx, o.model)
	known := func(subject query.Subject) bool { _, ok := vocabulary.Lookup(subject.Term); return ok }
	var result answer.Result
	switch {
	case vocabulary.Open():
		return nil, nil
	case !answer.Assessable(q):
		result = answer.Refused(q)
		result.UnsupportedAction.DocsURL = s.Base + result.UnsupportedAction.DocsURL
	case !slices.ContainsFunc(q.Subjects, known):
		result = answer.Unknown(q, nil)
	default:
		return nil, nil
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	a := client.Analysis{Status: "completed", Livemode: true, Prompt: &prompt, Suggestions: answer.Suggestions(q, vocabulary)}
	a.Query.Subjects = q.Subjects
	return &a, json.Unmarshal(raw, &a.Result)
}
