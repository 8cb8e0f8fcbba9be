package command

import (
	"context"
	"fmt"

	"vqa/domain/analysis"
	"vqa/domain/id"
)

// CreateBatch is the command to answer several prompts about one video
// (docs/contract.md#batches).
type CreateBatch struct {
	VideoID string
	// Prompts has 2 to 10 prompts of 1 to 2000 characters.
	Prompts   []string
	Model     string
	Narrative bool
	Metadata  map[string]string
	// Webhook receives the events of this batch's analyses only. It may be nil.
	Webhook *analysis.Webhook
	// DiscountPct, 0 to 100, is the discount on every prompt after the first.
	DiscountPct int
	// ValidateOnly checks and prices the request and records nothing.
	ValidateOnly bool
}

// PlannedBatch is a created batch, or with ValidateOnly the batch that a real request would
// create.
type PlannedBatch struct {
	ID      string
	VideoID string
	// Analyses are in the order of the prompts.
	Analyses []PlannedAnalysis
}

// CreateBatch creates all analyses and reserves the credits of all of them, or does
// nothing. Errors are those of CreateAnalysis. The limits and the balance must cover the
// whole batch.
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
	requests := make([]analysisRequest, len(c.Prompts))
	for i := range c.Prompts {
		r := analysisRequest{Create: s.newAnalysis(caller, c.VideoID, m.ID)}
		r.Query, r.ParseMode = read[i].query, read[i].mode
		r.Prompt, r.Narrative, r.Metadata, r.Webhook = &c.Prompts[i], c.Narrative, c.Metadata, c.Webhook
		r.BatchID, r.BatchIndex, r.unknown = batch.ID, i, s.unknownTo(ctx, m, r.Query)
		if i > 0 {
			r.discountPct = c.DiscountPct
		}
		requests[i] = r
	}
	batch.Analyses, err = s.createAnalyses(ctx, caller, requests, batch.ID, c.ValidateOnly)
	return batch, err
}
