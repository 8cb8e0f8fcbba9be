package language

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"time"

	"vqa/domain/query"
	"vqa/gpu/chat"
)

//go:embed compile.md
var compileTask string

// CompilerOptions say how prompts are compiled.
type CompilerOptions struct {
	Chat *chat.Client
	// Timeout bounds the reading of one prompt: it is part of the time that a create takes.
	Timeout time.Duration
	// Assessable reports which queries the service can answer.
	Assessable func(query.Query) bool
	Log        *slog.Logger
	// Pause is how long a model that fails is left alone; 0 is 30 s.
	Pause time.Duration
}

// Compiler compiles prompts by a model. It is safe for concurrent use.
type Compiler struct {
	asker      *asker
	schema     *chat.Schema
	timeout    time.Duration
	assessable func(query.Query) bool
	known      memory
}

// NewCompiler returns a compiler.
func NewCompiler(o CompilerOptions) (*Compiler, error) {
	schema, err := chat.NewSchema("compiled_query", query.Schema())
	if err != nil {
		return nil, err
	}
	if o.Pause == 0 {
		o.Pause = pause
	}
	return &Compiler{
		asker: newAsker(o.Chat, "compile", o.Pause, o.Log), schema: schema, timeout: o.Timeout, assessable: o.Assessable,
	}, nil
}

// ErrUnusable says that a model read a prompt in a way that is of no use, though validly.
var ErrUnusable = errors.New("the model's reading of the prompt is of no use")

// Compile reads a prompt of 1 to 2000 characters. The query is valid and has the prompt as
// its original_prompt. Errors: ErrUnusable, those of chat.Client.Ask, or the error of ctx; in
// each case the rules must do.
func (c *Compiler) Compile(ctx context.Context, prompt string) (query.Query, error) {
	if r, ok := c.known.get(prompt); ok {
		return r.query, r.err
	}
	text, err := json.Marshal(map[string]string{"question": prompt})
	if err != nil {
		return query.Query{}, err
	}
	q, err := ask(ctx, c.asker, chat.Request{
		System: compileTask, Parts: []chat.Part{{Text: string(text)}}, Schema: c.schema, Timeout: c.timeout,
	}, func(raw json.RawMessage) (query.Query, error) { return read(raw, prompt) })
	if err != nil {
		return query.Query{}, err
	}
	if !c.fits(q, prompt) {
		q, err = query.Query{}, ErrUnusable
	}
	c.known.put(prompt, reading{q, err})
	return q, err
}

// read holds what a model made of a prompt to the rules of the domain.
func read(raw json.RawMessage, prompt string) (query.Query, error) {
	q, err := query.Decode(raw)
	if err != nil {
		return query.Query{}, garbage("%w", err)
	}
	if p := q.OriginalPrompt; p != nil && strings.TrimSpace(*p) != strings.TrimSpace(prompt) {
		return query.Query{}, garbage("it compiled another prompt")
	}
	q.OriginalPrompt = &prompt
	if err := query.Validate(q); err != nil {
		return query.Query{}, garbage("%w", err)
	}
	for _, s := range q.Subjects {
		if s.Term != strings.ToLower(s.Term) {
			return query.Query{}, garbage("term %q is not in lower case", s.Term)
		}
	}
	return q, nil
}

// fits reports whether a reading may take the place of the rules'. A model that gives up
// must not take away what the rules understand.
func (c *Compiler) fits(q query.Query, prompt string) bool {
	if q.PromptIntent == query.OpenEnded {
		return !c.assessable(query.Compile(prompt))
	}
	return c.assessable(q)
}
