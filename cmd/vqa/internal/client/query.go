package client

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"vqa/domain/query"
	"vqa/domain/query/vocabulary"
)

// Parse returns the query that the server compiles from a prompt. ok is false when the server does
// not answer. An error means that the server would refuse an analysis of this prompt.
func (c *Client) Parse(ctx context.Context, prompt string) (q query.Query, ok bool, err error) {
	var parsed struct {
		CompiledQuery query.Query `json:"compiled_query"`
	}
	err = c.Once(ctx, http.MethodPost, "/v1/parse", nil, map[string]string{"prompt": prompt}, &parsed)
	var e *Error
	if errors.As(err, &e) && e.Status == http.StatusBadRequest {
		return q, false, e
	}
	return parsed.CompiledQuery, err == nil, ctx.Err()
}

// Vocabulary returns the classes of a model. The vocabulary is open for a model that takes any term, for one that
// the server does not list, and when the server does not answer.
func (c *Client) Vocabulary(ctx context.Context, model string) vocabulary.Vocabulary {
	var list struct {
		Data []struct {
			ID           string   `json:"id"`
			Aliases      []string `json:"aliases"`
			Default      bool     `json:"default"`
			Capabilities struct {
				Vocabulary []string `json:"vocabulary"`
			} `json:"capabilities"`
		} `json:"data"`
	}
	if c.Once(ctx, http.MethodGet, "/v1/models", nil, nil, &list) != nil {
		return vocabulary.Of(nil)
	}
	for _, m := range list.Data {
		if m.ID == model || slices.Contains(m.Aliases, model) || model == "" && m.Default {
			return vocabulary.Of(m.Capabilities.Vocabulary)
		}
	}
	return vocabulary.Of(nil)
}
