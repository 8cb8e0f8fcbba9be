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
	"vqa/domain/query/english"
	"vqa/gpu/chat"
)

//go:embed compile.md
var compileTask string

// CompilerOptions configure a Compiler.
type CompilerOptions struct {
	Chat *chat.Client
	// Timeout bounds one compilation, because a client waits for it when it creates an
	// analysis.
	Timeout time.Duration
	// Assessable reports which queries the service can answer.
	Assessable func(query.Query) bool
	Log        *slog.Logger
	// Pause is how long requests pause after repeated failures; 0 means 30 s.
	Pause time.Duration
}

// Compiler compiles prompts with a model. It is safe for concurrent use.
type Compiler struct {
	client     *modelClient
	schema     *chat.Schema
	timeout    time.Duration
	assessable func(query.Query) bool
	cache      queryCache
}

// NewCompiler returns a compiler.
func NewCompiler(o CompilerOptions) (*Compiler, error) {
	schema, err := chat.NewSchema("compiled_query", query.Schema())
	if err != nil {
		return nil, err
	}
	if o.Pause == 0 {
		o.Pause = pauseAfterFailures
	}
	return &Compiler{
		client: newModelClient(o.Chat, "compile", o.Pause, o.Log), schema: schema, timeout: o.Timeout, assessable: o.Assessable,
	}, nil
}

// ErrUnusable says that the model's query is valid but worse than that of the rules, or has a
// form that the service does not answer.
var ErrUnusable = errors.New("the query of the model cannot be used")

// Compile compiles a prompt of 1 to 2000 characters. The query is valid and has the prompt as
// its original_prompt. Errors: ErrUnusable, those of chat.Client.Ask, or the error of ctx.
// After each of them the caller uses the rules.
func (c *Compiler) Compile(ctx context.Context, prompt string) (query.Query, error) {
	if r, ok := c.cache.get(prompt); ok {
		return r.query, r.err
	}
	text, err := json.Marshal(map[string]string{"question": prompt})
	if err != nil {
		return query.Query{}, err
	}
	q, err := ask(ctx, c.client, chat.Request{
		System: compileTask, Parts: []chat.Part{{Text: string(text)}}, Schema: c.schema, Timeout: c.timeout,
	}, func(raw json.RawMessage) (query.Query, error) { return parseQuery(raw, prompt) })
	if err != nil {
		return query.Query{}, err
	}
	if !c.usable(q, prompt) {
		q, err = query.Query{}, ErrUnusable
	}
	c.cache.put(prompt, cachedQuery{q, err})
	return q, err
}

// parseQuery checks the model's query for a prompt against the rules of the domain.
func parseQuery(raw json.RawMessage, prompt string) (query.Query, error) {
	q, err := query.Decode(raw)
	if err != nil {
		return query.Query{}, invalid("%w", err)
	}
	if p := q.OriginalPrompt; p != nil && strings.TrimSpace(*p) != strings.TrimSpace(prompt) {
		return query.Query{}, invalid("the answer compiles another prompt")
	}
	q.OriginalPrompt = &prompt
	if err := query.Validate(q); err != nil {
		return query.Query{}, invalid("%w", err)
	}
	for _, s := range q.Subjects {
		if s.Term != strings.ToLower(s.Term) {
			return query.Query{}, invalid("term %q is not in lower case", s.Term)
		}
	}
	return q, nil
}

// usable reports whether the model's query may replace that of the rules. A model that gives up
// must not take away a query that the rules understand.
func (c *Compiler) usable(q query.Query, prompt string) bool {
	if q.PromptIntent == query.OpenEnded {
		return !c.assessable(english.Compile(prompt))
	}
	return c.assessable(q)
}
