package command

import (
	"context"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"vqa/domain/analysis"
	"vqa/domain/fault"
	"vqa/domain/query"
)

// maxPrompt is the longest prompt in characters (api-v1.md, "Limits").
const maxPrompt = 2000

// Compiler is a model of language that compiles prompts. It is safe for concurrent use.
type Compiler interface {
	// Compile returns a valid query of the prompt, soon: a create waits for it. An error
	// means that the rules must do; the compiler itself tells the operator why.
	Compile(ctx context.Context, prompt string) (query.Query, error)
}

// Parse compiles a prompt without asking anything. Errors: prompt_empty,
// prompt_too_long, parse_failed.
func (s *Service) Parse(ctx context.Context, prompt string) (query.Query, analysis.ParseMode, error) {
	if err := checkPrompt(prompt, "prompt"); err != nil {
		return query.Query{}, "", err
	}
	r := compile(ctx, s.Compiler, prompt)
	return r.query, r.mode, nil
}

// parsed is a prompt as it was read.
type parsed struct {
	query query.Query
	mode  analysis.ParseMode
}

// readPrompts compiles the prompts of a request, all at the same time, because a model is
// waited for. param names the field of each. A test key's are read by the rules, whose
// answers do not change (api-v1.md, "Mode rules"). Errors as for Parse.
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

// compile asks the model, if there is one, and else the rules, which always have an answer:
// what they do not understand is open-ended.
func compile(ctx context.Context, model Compiler, prompt string) parsed {
	if model != nil {
		if q, err := model.Compile(ctx, prompt); err == nil {
			return parsed{q, analysis.ParseLLM}
		}
	}
	return parsed{query.Compile(prompt), analysis.ParseHeuristic}
}

// checkPrompt refuses what is no question: what has neither a letter nor a digit is none in
// any language.
func checkPrompt(prompt, param string) error {
	switch {
	case strings.TrimSpace(prompt) == "":
		return fault.New(fault.PromptEmpty, "The prompt is empty.").WithParam(param)
	case utf8.RuneCountInString(prompt) > maxPrompt:
		return fault.New(fault.PromptTooLong, "").WithParam(param)
	case !strings.ContainsFunc(prompt, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsNumber(c) }):
		return fault.New(fault.ParseFailed, "The prompt has no words.").WithParam(param)
	}
	return nil
}

// assessable reports whether the service answers a query.
func (s *Service) assessable(q query.Query) bool {
	if s.Assessable == nil {
		return query.Assessable(q)
	}
	return s.Assessable(q)
}
