package command

import (
	"context"

	"vqa/domain/analysis"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/video"
)

// ExpireHold gives back what a hold reserved whose time is over. An analysis that has
// not ended by then fails in the same step: it would otherwise be worked on without a
// reservation. A hold that ended meanwhile, or has not expired, is left alone.
func (s *Service) ExpireHold(ctx context.Context, accountID, sourceID string) error {
	incidentID, err := s.openIncident(ctx)
	if err != nil {
		return err
	}
	in := intent{accountID: accountID, meta: s.systemMeta(Cause{}, accountID, "sweep")}
	in.streams = append(in.streams, credits.Stream(accountID), analyses.Stream(sourceID))
	err = s.Pipeline.do(ctx, in, func(ss *session) error {
		balance, err := credits.record(ss, accountID, credit.Expire{SourceID: sourceID})
		if err != nil {
			return err
		}
		a, err := analyses.get(ss, sourceID)
		if err != nil || !a.Exists() || a.Status.Terminal() {
			return err
		}
		if _, err := videos.record(ss, a.VideoID, video.CloseAnalysis{AnalysisID: sourceID}); err != nil {
			return err
		}
		_, err = analyses.record(ss, sourceID, analysis.Fail{
			Error: analysis.Failure{Code: fault.StuckTimeout, Message: fault.Lookup(fault.StuckTimeout).Message},
			Usage: unbilled(a, balance), IncidentID: incidentID,
		})
		return err
	})
	return ignoreStale(err)
}
