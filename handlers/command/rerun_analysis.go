package command

import (
	"context"

	"vqa/domain/analysis"
	"vqa/domain/fault"
)

// RerunAnalysis repeats an analysis that failed in a platform incident, once and for free. It
// keeps the video, prompt, model, options, metadata and webhook. A refusal does not use up the
// re-run. Errors: resource_not_found, rerun_not_eligible, resource_conflict when the video was
// deleted, model_deprecated, concurrency_limit_exceeded, capacity_exhausted,
// inference_unavailable.
func (s *Service) RerunAnalysis(ctx context.Context, caller Caller, analysisID string) (analysis.State, error) {
	original, err := s.repeatable(ctx, caller, analysisID)
	if err != nil {
		return analysis.State{}, err
	}
	if _, err := s.Catalog.Resolve(original.Model, s.Now()); err != nil {
		return analysis.State{}, err
	}
	if err := s.checkCapacity(ctx, 1); err != nil {
		return analysis.State{}, err
	}
	r := analysisRequest{Create: s.newAnalysis(caller, original.VideoID, original.Model)}
	r.Origin, r.Prompt, r.Query, r.ParseMode = original.Origin, original.Prompt, original.Query, original.ParseMode
	r.Narrative, r.Metadata, r.Webhook, r.RerunOf = original.Narrative, original.Metadata, original.Webhook, original.ID
	in := caller.intent(analyses.Stream(analysisID), videos.Stream(r.VideoID), credits.Stream(caller.AccountID))
	var a analysis.State
	err = s.Pipeline.do(ctx, in, func(ss *session) error {
		in.created(r.ID)
		ss.fresh(analyses.Stream(r.ID))
		if _, err := analyses.record(ss, analysisID, analysis.Repeat{RerunID: r.ID}); err != nil {
			return err
		}
		v, err := videos.get(ss, r.VideoID)
		if err != nil {
			return err
		}
		if !owns(caller, v) {
			return fault.New(fault.ResourceConflict, "The video of this analysis was deleted, so the analysis cannot be run again.")
		}
		if err := s.admit(ss, caller, 1, 0); err != nil {
			return err
		}
		a, err = s.enqueue(ss, caller, r)
		return err
	})
	return a, err
}

// repeatable reads the caller's analysis and refuses one without a free re-run. It runs before
// the capacity check, so that a caller without a right to a re-run does not retry later.
func (s *Service) repeatable(ctx context.Context, caller Caller, analysisID string) (analysis.State, error) {
	var a analysis.State
	in := caller.intent(analyses.Stream(analysisID))
	in.dryRun = true
	err := s.Pipeline.do(ctx, in, func(ss *session) (err error) {
		if a, err = analyses.get(ss, analysisID); err != nil {
			return err
		}
		if !a.Exists() || a.AccountID != caller.AccountID || a.Livemode != caller.Livemode {
			return fault.NotFound("id", analysisID)
		}
		_, err = analysis.Decide(a, analysis.Repeat{}, ss.now)
		return err
	})
	return a, err
}
