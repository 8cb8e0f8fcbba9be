package httpapi

import (
	"context"

	"vqa/domain/analysis"
	"vqa/handlers/httpapi/api"
)

// ParsePrompt answers POST /v1/parse. The edge has checked the body.
func (s *server) ParsePrompt(ctx context.Context, r api.ParsePromptRequestObject) (api.ParsePromptResponseObject, error) {
	q, mode, err := s.Service.Parse(ctx, r.Body.Prompt)
	if err != nil {
		return nil, err
	}
	out := api.ParsePrompt200JSONResponse{CompiledQuery: q, ParseMode: api.ParsedPromptParseModeHeuristic}
	if mode == analysis.ParseLLM {
		out.ParseMode = api.ParsedPromptParseModeLlmParser
	}
	return out, nil
}
