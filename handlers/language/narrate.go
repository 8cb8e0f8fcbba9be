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

// narrateSchema is what rewritten observations look like.
const narrateSchema = `{
	"type": "object", "additionalProperties": false, "required": ["texts"],
	"properties": {"texts": {"type": "array", "items": {"type": "string", "minLength": 1}}}
}`

// narrateTimeout bounds one narrative; nobody waits for it.
const narrateTimeout = time.Minute

// Narrator writes narratives in better prose. It is safe for concurrent use.
type Narrator struct {
	asker  *asker
	schema *chat.Schema
}

// NewNarrator returns a narrator.
func NewNarrator(c *chat.Client, log *slog.Logger) (*Narrator, error) {
	schema, err := chat.NewSchema("narrative", []byte(narrateSchema))
	if err != nil {
		return nil, err
	}
	return &Narrator{asker: newAsker(c, "narrate", pause, log), schema: schema}, nil
}

// Narrate writes entries anew: as many, at the same times, each of fewer than
// narrative.MaxLen bytes. Whether a model kept to what was observed cannot be checked.
// Errors are those of chat.Client.Ask, or that of ctx; the entries must do then.
func (n *Narrator) Narrate(ctx context.Context, entries []narrative.Entry) ([]narrative.Entry, error) {
	text, err := json.Marshal(map[string]any{"observations": entries})
	if err != nil {
		return nil, err
	}
	return ask(ctx, n.asker, chat.Request{
		System: narrateTask, Parts: []chat.Part{{Text: string(text)}}, Schema: n.schema, Timeout: narrateTimeout,
	}, func(raw json.RawMessage) ([]narrative.Entry, error) { return retold(raw, entries) })
}

func retold(raw json.RawMessage, entries []narrative.Entry) ([]narrative.Entry, error) {
	var answer struct{ Texts []string }
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, garbage("%w", err)
	}
	if len(answer.Texts) != len(entries) {
		return nil, garbage("%d texts for %d observations", len(answer.Texts), len(entries))
	}
	out := make([]narrative.Entry, len(entries))
	for i, text := range answer.Texts {
		text = strings.TrimSpace(text)
		unfit := func(c rune) bool { return !unicode.IsPrint(c) }
		if text == "" || len(text) >= narrative.MaxLen || strings.ContainsFunc(text, unfit) {
			return nil, garbage("text %d is empty, too long or not printable", i)
		}
		out[i] = narrative.Entry{AtS: entries[i].AtS, Text: text}
	}
	return out, nil
}
