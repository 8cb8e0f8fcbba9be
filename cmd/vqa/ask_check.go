package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"

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
	if err != nil || !ok || o.json || o.narrative || query.Assessable(q) || s.TakesAnyTerm(ctx, o.model) {
		return nil, err
	}
	raw, err := json.Marshal(answer.Refused(q))
	if err != nil {
		return nil, err
	}
	a := client.Analysis{Status: "completed", Livemode: true, Prompt: &prompt}
	if err := json.Unmarshal(raw, &a.Result); err != nil {
		return nil, err
	}
	a.Result.UnsupportedAction.DocsURL = s.Base + a.Result.UnsupportedAction.DocsURL
	return &a, nil
}
