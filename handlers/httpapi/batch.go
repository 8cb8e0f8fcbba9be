package httpapi

import (
	"context"
	"fmt"
	"net/http"

	"vqa/domain/fault"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
	"vqa/projections/resources"
)

// CreateAnalysisBatch answers POST /v1/analyses/batch. The edge has checked the body.
func (s *server) CreateAnalysisBatch(ctx context.Context, r api.CreateAnalysisBatchRequestObject) (api.CreateAnalysisBatchResponseObject, error) {
	body := *r.Body
	c := command.CreateBatch{
		VideoID: body.VideoId, Prompts: body.Prompts, Model: given(body.Model), Metadata: given(body.Metadata),
		DiscountPct: s.Pricing.BatchDiscountPct, ValidateOnly: given(body.ValidateOnly), Webhook: override(body.Webhook),
	}
	if body.Options != nil {
		c.Narrative = given(body.Options.Narrative)
	}
	x := edge.ExchangeOf(ctx)
	if err := s.checkReadable(ctx, c.VideoID); err != nil {
		return nil, err
	}
	batch, err := s.Service.CreateBatch(ctx, x.Caller, c)
	if err != nil {
		return nil, err
	}
	warnOfAlias(x, c.Model, batch.Analyses[0].Analysis.Model)
	if c.ValidateOnly {
		x.NothingStored = true
		return api.CreateAnalysisBatch200JSONResponse(s.renderBatchPreview(ctx, batch)), nil
	}
	out := api.AnalysisBatch{
		Id: batch.ID, Object: api.AnalysisBatchObjectAnalysisBatch, VideoId: batch.VideoID,
		Analyses: make([]api.Analysis, len(batch.Analyses)), Pricing: s.batchPricing(estimates(batch)),
	}
	for i, a := range s.readBatch(ctx, x, batch) {
		out.Analyses[i] = s.renderAnalysis(ctx, a)
	}
	return api.CreateAnalysisBatch202JSONResponse(out), nil
}

// readBatch reads a created batch with the queue positions. If the read fails, it returns
// the analyses as they were created; see readBack.
func (s *server) readBatch(ctx context.Context, x *edge.Exchange, batch command.PlannedBatch) []resources.Analysis {
	list := make([]resources.Analysis, len(batch.Analyses))
	queued := false
	for i, p := range batch.Analyses {
		list[i].State = p.Analysis
		queued = queued || !p.Analysis.Status.Terminal()
	}
	if !queued {
		return list
	}
	read, err := s.Resources.Batch(ctx, x.Tenant(), batch.ID)
	if err != nil || len(read) != len(list) {
		s.Log.WarnContext(ctx, "cannot read the created batch", "request_id", x.RequestID, "error", fmt.Sprint(err))
		return list
	}
	return read
}

// estimates returns the estimated seconds of each prompt of a batch.
func estimates(batch command.PlannedBatch) []*int64 {
	out := make([]*int64, len(batch.Analyses))
	for i, p := range batch.Analyses {
		out[i] = p.EstimatedSeconds
	}
	return out
}

// batchPricing adds up a batch. The total is unknown if any estimate is.
func (s *server) batchPricing(estimates []*int64) api.BatchPricing {
	total := new(int64)
	for _, seconds := range estimates {
		if seconds == nil {
			total = nil
			break
		}
		*total += *seconds
	}
	return api.BatchPricing{
		FullPricePrompts: 1, DiscountedPrompts: len(estimates) - 1, DiscountPct: s.Pricing.BatchDiscountPct,
		EstimatedTotalSeconds: total, EstimatedTotalCostUsd: s.cost(total),
	}
}

// renderBatchPreview renders the response to validate_only.
func (s *server) renderBatchPreview(ctx context.Context, batch command.PlannedBatch) api.AnalysisBatchPreview {
	out := api.AnalysisBatchPreview{
		Object: api.AnalysisBatchPreviewObjectAnalysisBatchPreview, VideoId: batch.VideoID,
		Prompts: make([]api.BatchPromptPreview, len(batch.Analyses)), Pricing: s.batchPricing(estimates(batch)),
	}
	for i, p := range batch.Analyses {
		out.Prompts[i] = api.BatchPromptPreview{
			Index: i, Query: p.Analysis.Query, ParseMode: api.ParseMode(p.Analysis.ParseMode), Assessable: p.Assessable,
			EstimatedSeconds: p.EstimatedSeconds, EstimatedCostUsd: s.cost(p.EstimatedSeconds), DiscountPct: p.DiscountPct,
			Note: note(p),
		}
		if !p.Assessable {
			out.Prompts[i].Suggestions = s.suggestions(ctx, p.Analysis.Query)
		}
	}
	return out
}

// recreateBatch renders a batch whose response was not stored, from the current state of
// its analyses.
func (s *server) recreateBatch(ctx context.Context, x *edge.Exchange, batchID string) (int, any, error) {
	list, err := s.Resources.Batch(ctx, x.Tenant(), batchID)
	if err != nil {
		return 0, nil, err
	}
	out := api.AnalysisBatch{
		Id: batchID, Object: api.AnalysisBatchObjectAnalysisBatch, VideoId: list[0].VideoID, Analyses: make([]api.Analysis, len(list)),
	}
	known := true
	if v, err := s.Resources.Video(ctx, x.Tenant(), out.VideoId); err == nil {
		_, known = v.BilledSeconds()
	} else if !fault.Has(err, fault.ResourceNotFound) {
		return 0, nil, err
	}
	costs := make([]*int64, len(list))
	for i, a := range list {
		out.Analyses[i] = s.renderAnalysis(ctx, a)
		// The hold equals the estimate, unless the duration of the video is unknown.
		if known || a.HeldSeconds == 0 {
			costs[i] = new(a.HeldSeconds)
		}
	}
	out.Pricing = s.batchPricing(costs)
	return http.StatusAccepted, out, nil
}
