package language

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"vqa/domain/answer"
	"vqa/domain/query"
	"vqa/gpu/chat"
)

//go:embed opinion.md
var opinionTask string

// opinionSchema describes an opinion.
const opinionSchema = `{
	"type": "object", "additionalProperties": false, "required": ["answer", "confidence", "frames", "count"],
	"properties": {
		"answer": {"enum": ["yes", "no", "unsure"]},
		"confidence": {"type": "number", "minimum": 0, "maximum": 1},
		"frames": {"type": "array", "items": {"type": "integer", "minimum": 0}},
		"count": {"type": ["integer", "null"], "minimum": 0, "maximum": 1000000}
	}
}`

// opinionTimeout bounds one opinion. It is long, because a model takes seconds for each frame.
const opinionTimeout = time.Minute

// VisionModel is a language model that looks at frames of a video. It is safe for concurrent
// use.
type VisionModel struct {
	client *modelClient
	schema *chat.Schema
}

// NewVisionModel returns a vision model. The model of the client must accept images.
func NewVisionModel(c *chat.Client, log *slog.Logger) (*VisionModel, error) {
	schema, err := chat.NewSchema("opinion", []byte(opinionSchema))
	if err != nil {
		return nil, err
	}
	return &VisionModel{client: newModelClient(c, "second opinion", pauseAfterFailures, log), schema: schema}, nil
}

// Model is the name of the model.
func (m *VisionModel) Model() string { return m.client.chat.Model() }

// Frame is one frame of a video as an image file.
type Frame struct {
	// AtS is the time of the frame in seconds.
	AtS  float64
	JPEG []byte
}

// VisionAssessable reports whether a vision model can answer q. It can when q has a closed form
// and its time windows are known and not negated. The terms do not matter.
func VisionAssessable(q query.Query) bool {
	return q.PromptIntent != query.OpenEnded && len(q.Subjects) > 0 && !slices.ContainsFunc(q.Conditions, func(c query.Condition) bool {
		_, ok := c.Window()
		return c.Kind == query.KindTime && (!ok || c.Negated)
	})
}

// Opinion asks the model about frames, which are in the order of time. prompt is the caller's
// text, or nil. Opinion does not set StepS; only the caller knows it. Errors are those of
// chat.Client.Ask, or the error of ctx.
func (m *VisionModel) Opinion(ctx context.Context, prompt *string, q query.Query, frames []Frame) (answer.Opinion, error) {
	q.OriginalPrompt = nil // the message holds the prompt already, as "question"
	question, err := json.Marshal(map[string]any{"question": prompt, "query": q})
	if err != nil {
		return answer.Opinion{}, err
	}
	parts := []chat.Part{{Text: string(question)}}
	for i, p := range frames {
		parts = append(parts, chat.Part{Text: fmt.Sprintf("picture %d, at %.2f s:", i, p.AtS)}, chat.Part{JPEG: p.JPEG})
	}
	return ask(ctx, m.client, chat.Request{
		System: opinionTask, Parts: parts, Schema: m.schema, Timeout: opinionTimeout,
	}, func(raw json.RawMessage) (answer.Opinion, error) { return parseOpinion(raw, frames) })
}

func parseOpinion(raw json.RawMessage, frames []Frame) (answer.Opinion, error) {
	var said struct {
		Answer     string
		Confidence float64
		Frames     []int
		Count      *int
	}
	if err := json.Unmarshal(raw, &said); err != nil {
		return answer.Opinion{}, invalid("%w", err)
	}
	o := answer.Opinion{Answer: answer.Indeterminate, Confidence: said.Confidence, Count: said.Count}
	switch said.Answer {
	case "yes":
		o.Answer = answer.Yes
	case "no":
		o.Answer = answer.No
	}
	slices.Sort(said.Frames)
	for _, i := range slices.Compact(said.Frames) {
		if i >= len(frames) {
			return answer.Opinion{}, invalid("the answer names frame %d, which was not shown", i)
		}
		o.ShownAtS = append(o.ShownAtS, frames[i].AtS)
	}
	return o, nil
}
