package command

import (
	"context"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/query"
	"vqa/domain/query/english"
)

// maxPrompt is the longest prompt in characters (docs/contract.md#limits).
const maxPrompt = 2000

// Compiler compiles prompts with a language model. It is safe for concurrent use.
type Compiler interface {
	// Compile returns a valid query for the prompt. It must be quick, because creating an
	// analysis waits for it. After an error the rules compile the prompt. The compiler logs
	// the reason itself.
	Compile(ctx context.Context, prompt string) (query.Query, error)
}

// Parse compiles a prompt and creates nothing. Errors: prompt_empty, prompt_too_long,
// parse_failed.
func (s *Service) Parse(ctx context.Context, prompt string) (query.Query, analysis.ParseMode, error) {
	if err := checkPrompt(prompt, "prompt"); err != nil {
		return query.Query{}, "", err
	}
	r := compile(ctx, s.Compiler, prompt)
	return r.query, r.mode, nil
}

// parsed is a compiled prompt.
type parsed struct {
	query query.Query
	mode  analysis.ParseMode
}

// readPrompts compiles the prompts of a request. It compiles them in parallel, because a
// language model takes long. param returns the field name of each prompt. In test mode only
// the rules compile, because test results must not change (docs/contract.md#modes). Errors are
// those of Parse.
func (s *Service) readPrompts(ctx context.Context, caller Caller, prompts []string, param func(i int) string) ([]parsed, error) {
	for i, prompt := range prompts {
		if err := checkPrompt(prompt, param(i)); err != nil {
			return nil, err
		}
	}
	model := s.Compiler
	if !caller.Livemode {
		model = nil
	}
	out := make([]parsed, len(prompts))
	var reads sync.WaitGroup
	for i, prompt := range prompts {
		reads.Go(func() { out[i] = compile(ctx, model, prompt) })
	}
	reads.Wait()
	return out, nil
}

// compile uses the model if there is one. Without a model, or when it fails, the rules compile
// the prompt. They always succeed: a prompt that they do not understand is open-ended.
func compile(ctx context.Context, model Compiler, prompt string) parsed {
	if model != nil {
		if q, err := model.Compile(ctx, prompt); err == nil {
			return parsed{q, analysis.ParseLLM}
		}
	}
	return parsed{english.Compile(prompt), analysis.ParseHeuristic}
}

// checkPrompt refuses a prompt that is empty, too long, or has neither a letter nor a digit.
func checkPrompt(prompt, param string) error {
	switch {
	case strings.TrimSpace(prompt) == "":
		return fault.New(fault.PromptEmpty, "The prompt is empty. Write a question about the video.").WithParam(param)
	case utf8.RuneCountInString(prompt) > maxPrompt:
		return fault.New(fault.PromptTooLong, "").WithParam(param)
	case !strings.ContainsFunc(prompt, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsNumber(c) }):
		return fault.New(fault.ParseFailed, "The prompt has no letters or digits. Write a question about the video in words.").WithParam(param)
	}
	return nil
}

// assessable reports whether the service answers a query.
func (s *Service) assessable(q query.Query) bool {
	if s.Assessable == nil {
		return answer.Assessable(q)
	}
	return s.Assessable(q)
}
