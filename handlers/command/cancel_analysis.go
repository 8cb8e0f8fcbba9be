package command

import (
	"context"

	"vqa/domain/analysis"
	"vqa/domain/fault"
	"vqa/domain/video"
)

// CancelAnalysis cancels an analysis that is not terminal and releases its hold. Errors:
// resource_not_found, analysis_not_cancelable.
func (s *Service) CancelAnalysis(ctx context.Context, caller Caller, analysisID string) (analysis.State, error) {
	var a analysis.State
	err := s.Pipeline.do(ctx, caller.intent(analyses.Stream(analysisID), credits.Stream(caller.AccountID)), func(ss *session) (err error) {
		if a, err = analyses.get(ss, analysisID); err != nil {
			return err
		}
		if !a.Exists() || a.AccountID != caller.AccountID || a.Livemode != caller.Livemode {
			return fault.NotFound("id", analysisID)
		}
		cancel := analysis.Cancel{}
		if !a.Status.Terminal() {
			if cancel.Usage, err = release(ss, a); err != nil {
				return err
			}
			if _, err = videos.record(ss, a.VideoID, video.CloseAnalysis{AnalysisID: analysisID}); err != nil {
				return err
			}
		}
		a, err = analyses.record(ss, analysisID, cancel)
		return err
	})
	return a, err
}
