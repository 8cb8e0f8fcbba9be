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

// opinionSchema is what an opinion looks like.
const opinionSchema = `{
	"type": "object", "additionalProperties": false, "required": ["answer", "confidence", "frames", "count"],
	"properties": {
		"answer": {"enum": ["yes", "no", "unsure"]},
		"confidence": {"type": "number", "minimum": 0, "maximum": 1},
		"frames": {"type": "array", "items": {"type": "integer", "minimum": 0}},
		"count": {"type": ["integer", "null"], "minimum": 0, "maximum": 1000000}
	}
}`

// opinionTimeout bounds one opinion: pictures take a model long.
const opinionTimeout = time.Minute

// VisionModel looks at pictures of a video. It is safe for concurrent use.
type VisionModel struct {
	asker  *asker
	schema *chat.Schema
}

// NewVisionModel returns a witness whose model takes pictures.
func NewVisionModel(c *chat.Client, log *slog.Logger) (*VisionModel, error) {
	schema, err := chat.NewSchema("opinion", []byte(opinionSchema))
	if err != nil {
		return nil, err
	}
	return &VisionModel{asker: newAsker(c, "second opinion", pause, log), schema: schema}, nil
}

// Model is the name of the model that looks.
func (w *VisionModel) Model() string { return w.asker.chat.Model() }

// Frame is a frame of a video.
type Frame struct {
	// AtS is when it is on view, in seconds.
	AtS  float64
	JPEG []byte
}

// VisionAssessable reports whether a model that looks at pictures can be asked q, whatever is asked about
// in it: it has a closed form, and says which part of the video it is about.
func VisionAssessable(q query.Query) bool {
	return q.PromptIntent != query.OpenEnded && len(q.Subjects) > 0 && !slices.ContainsFunc(q.Conditions, func(c query.Condition) bool {
		_, ok := c.Window()
		return c.Kind == query.KindTime && (!ok || c.Negated)
	})
}

// Opinion asks about pictures, which are in the order of time. prompt is the question as it
// was asked, or nil. The step of the opinion is the caller's to know. Errors are those of chat.Client.Ask, or that of ctx.
func (w *VisionModel) Opinion(ctx context.Context, prompt *string, q query.Query, pictures []Frame) (answer.Opinion, error) {
	q.OriginalPrompt = nil // said once, as question
	question, err := json.Marshal(map[string]any{"question": prompt, "query": q})
	if err != nil {
		return answer.Opinion{}, err
	}
	parts := []chat.Part{{Text: string(question)}}
	for i, p := range pictures {
		parts = append(parts, chat.Part{Text: fmt.Sprintf("picture %d, at %.2f s:", i, p.AtS)}, chat.Part{JPEG: p.JPEG})
	}
	return ask(ctx, w.asker, chat.Request{
		System: opinionTask, Parts: parts, Schema: w.schema, Timeout: opinionTimeout,
	}, func(raw json.RawMessage) (answer.Opinion, error) { return opinion(raw, pictures) })
}

func opinion(raw json.RawMessage, pictures []Frame) (answer.Opinion, error) {
	var said struct {
		Answer     string
		Confidence float64
		Frames     []int
		Count      *int
	}
	if err := json.Unmarshal(raw, &said); err != nil {
		return answer.Opinion{}, garbage("%w", err)
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
		if i >= len(pictures) {
			return answer.Opinion{}, garbage("there is no picture %d", i)
		}
		o.ShownAtS = append(o.ShownAtS, pictures[i].AtS)
	}
	return o, nil
}
