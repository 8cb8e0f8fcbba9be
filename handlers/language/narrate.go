package language

import (
	"context"
	_ "embed"
	"encoding/json"
	"log/slog"
	"strings"
	"time"
	"unicode"

	"vqa/domain/narrative"
	"vqa/gpu/chat"
)

//go:embed narrate.md
var narrateTask string

// narrateSchema describes the answer to a request to rewrite a narrative.
const narrateSchema = `{
	"type": "object", "additionalProperties": false, "required": ["texts"],
	"properties": {"texts": {"type": "array", "items": {"type": "string", "minLength": 1}}}
}`

// narrateTimeout bounds one narrative. It is long, because no client waits for it.
const narrateTimeout = time.Minute

// Narrator writes narratives in better prose. It is safe for concurrent use.
type Narrator struct {
	client *modelClient
	schema *chat.Schema
}

// NewNarrator returns a narrator.
func NewNarrator(c *chat.Client, log *slog.Logger) (*Narrator, error) {
	schema, err := chat.NewSchema("narrative", []byte(narrateSchema))
	if err != nil {
		return nil, err
	}
	return &Narrator{client: newModelClient(c, "narrate", pauseAfterFailures, log), schema: schema}, nil
}

// Narrate rewrites entries. It returns the same number of entries at the same times, each of
// fewer than narrative.MaxLen bytes. It cannot check whether the model added something that was
// not observed. Errors are those of chat.Client.Ask, or the error of ctx. After an error the
// caller uses the entries as they are.
func (n *Narrator) Narrate(ctx context.Context, entries []narrative.Entry) ([]narrative.Entry, error) {
	text, err := json.Marshal(map[string]any{"observations": entries})
	if err != nil {
		return nil, err
	}
	return ask(ctx, n.client, chat.Request{
		System: narrateTask, Parts: []chat.Part{{Text: string(text)}}, Schema: n.schema, Timeout: narrateTimeout,
	}, func(raw json.RawMessage) ([]narrative.Entry, error) { return parseTexts(raw, entries) })
}

func parseTexts(raw json.RawMessage, entries []narrative.Entry) ([]narrative.Entry, error) {
	var answer struct{ Texts []string }
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, invalid("%w", err)
	}
	if len(answer.Texts) != len(entries) {
		return nil, invalid("the answer has %d texts for %d observations", len(answer.Texts), len(entries))
	}
	out := make([]narrative.Entry, len(entries))
	for i, text := range answer.Texts {
		text = strings.TrimSpace(text)
		unfit := func(c rune) bool { return !unicode.IsPrint(c) }
		if text == "" || len(text) >= narrative.MaxLen || strings.ContainsFunc(text, unfit) {
			return nil, invalid("text %d is empty, too long or not printable", i)
		}
		out[i] = narrative.Entry{AtS: entries[i].AtS, Text: text}
	}
	return out, nil
}
