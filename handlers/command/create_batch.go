package command

import (
	"context"
	"fmt"

	"vqa/domain/analysis"
	"vqa/domain/id"
)

// CreateBatch asks several questions about one video (api-v1.md, "Batch request").
type CreateBatch struct {
	VideoID string
	// Prompts are 2 to 10, each of 1 to 2000 characters.
	Prompts   []string
	Model     string
	Narrative bool
	Metadata  map[string]string
	// Webhook is told about the analyses of this batch alone, or nil.
	Webhook *analysis.Webhook
	// DiscountPct, 0 to 100, is taken off every prompt after the first.
	DiscountPct int
	// ValidateOnly takes the whole path and records nothing.
	ValidateOnly bool
}

// PlannedBatch is a batch as it was, or would be, created.
type PlannedBatch struct {
	ID      string
	VideoID string
	// Analyses are in the order of the prompts.
	Analyses []PlannedAnalysis
}

// CreateBatch creates all analyses and reserves the credits of all of them, or does
// nothing. Errors are those of CreateAnalysis; the caps and the balance count the whole
// batch.
func (s *Service) CreateBatch(ctx context.Context, caller Caller, c CreateBatch) (PlannedBatch, error) {
	m, err := s.Catalog.Resolve(c.Model, s.Now())
	if err != nil {
		return PlannedBatch{}, err
	}
	batch := PlannedBatch{ID: s.IDs.New(id.Batch), VideoID: c.VideoID}
	read, err := s.readPrompts(ctx, caller, c.Prompts, func(i int) string { return fmt.Sprintf("prompts.%d", i) })
	if err != nil {
		return PlannedBatch{}, err
	}
	questions := make([]question, len(c.Prompts))
	for i := range c.Prompts {
		o := question{Create: s.newAnalysis(caller, c.VideoID, m.ID)}
		o.Query, o.ParseMode = read[i].query, read[i].mode
		o.Prompt, o.Narrative, o.Metadata, o.Webhook = &c.Prompts[i], c.Narrative, c.Metadata, c.Webhook
		o.BatchID, o.BatchIndex, o.unknown = batch.ID, i, s.unknownTo(ctx, m, o.Query)
		if i > 0 {
			o.discountPct = c.DiscountPct
		}
		questions[i] = o
	}
	batch.Analyses, err = s.createAnalyses(ctx, caller, questions, batch.ID, c.ValidateOnly)
	return batch, err
}
