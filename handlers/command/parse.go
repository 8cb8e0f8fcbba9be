package command

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"vqa/domain/analysis"
	"vqa/domain/fault"
	"vqa/domain/query"
)

// maxPrompt is the longest prompt in characters (api-v1.md, "Limits").
const maxPrompt = 2000

// Parse compiles a prompt without asking anything. Errors: prompt_empty,
// prompt_too_long, parse_failed.
func (s *Service) Parse(prompt string) (query.Query, analysis.ParseMode, error) {
	return parse(prompt, "prompt")
}

// parse compiles the prompt of a field. What has neither a letter nor a digit is no
// question in any language; everything else compiles, at worst to an open-ended query.
func parse(prompt, param string) (query.Query, analysis.ParseMode, error) {
	switch {
	case strings.TrimSpace(prompt) == "":
		return query.Query{}, "", fault.New(fault.PromptEmpty, "The prompt is empty.").WithParam(param)
	case utf8.RuneCountInString(prompt) > maxPrompt:
		return query.Query{}, "", fault.New(fault.PromptTooLong, "").WithParam(param)
	case !strings.ContainsFunc(prompt, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsNumber(c) }):
		return query.Query{}, "", fault.New(fault.ParseFailed, "The prompt has no words.").WithParam(param)
	}
	return query.Compile(prompt), analysis.ParseHeuristic, nil
}
