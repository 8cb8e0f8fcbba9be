package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"vqa/domain/answer"
	"vqa/domain/query"
)

// refusal checks a question before a video is uploaded for it. It returns the answer that the
// question would get about any video, or nil when the video is needed. Who wants JSON or a
// narrative gets an analysis in any case.
func (s *session) refusal(ctx context.Context, o askOptions, prompt string) (*analysisResource, error) {
	q, ok, err := s.parse(ctx, prompt)
	if err != nil || !ok || o.json || o.narrative || query.Assessable(q) || s.takesAnyTerm(ctx, o.model) {
		return nil, err
	}
	raw, err := json.Marshal(answer.Refused(q))
	if err != nil {
		return nil, err
	}
	a := analysisResource{Status: "completed", Livemode: true, Prompt: &prompt}
	if err := json.Unmarshal(raw, &a.Result); err != nil {
		return nil, err
	}
	a.Result.UnsupportedAction.DocsURL = s.base + a.Result.UnsupportedAction.DocsURL
	return &a, nil
}

// parse returns how the server reads a prompt. ok is false where that cannot be told now. An
// error is the one with which a question would be refused.
func (c *client) parse(ctx context.Context, prompt string) (q query.Query, ok bool, err error) {
	var parsed struct {
		CompiledQuery query.Query `json:"compiled_query"`
	}
	err = c.once(ctx, http.MethodPost, "/v1/parse", nil, map[string]string{"prompt": prompt}, &parsed)
	var e *apiError
	if errors.As(err, &e) && e.Status == http.StatusBadRequest {
		return q, false, e
	}
	return parsed.CompiledQuery, err == nil, ctx.Err()
}

// takesAnyTerm reports whether the model is one that may answer what the detector cannot; so
// does a model that is not told of.
func (c *client) takesAnyTerm(ctx context.Context, model string) bool {
	var list struct {
		Data []struct {
			ID           string   `json:"id"`
			Aliases      []string `json:"aliases"`
			Default      bool     `json:"default"`
			Capabilities struct {
				OpenVocabulary bool `json:"open_vocabulary"`
			} `json:"capabilities"`
		} `json:"data"`
	}
	if c.once(ctx, http.MethodGet, "/v1/models", nil, nil, &list) != nil {
		return true
	}
	for _, m := range list.Data {
		if m.ID == model || slices.Contains(m.Aliases, model) || model == "" && m.Default {
			return m.Capabilities.OpenVocabulary
		}
	}
	return true
}
