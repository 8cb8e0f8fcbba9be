package command

import (
	"context"

	"vqa/domain/analysis"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/stream"
	"vqa/domain/video"
)

// ExpireHold releases a hold that has expired. If its analysis or stream has not ended, the same
// append ends it, because work must not go on without a hold. ExpireHold does nothing when
// the hold has ended in the meantime or has not expired.
func (s *Service) ExpireHold(ctx context.Context, accountID, sourceID string) error {
	incidentID, err := s.openIncident(ctx)
	if err != nil {
		return err
	}
	in := intent{accountID: accountID, meta: s.systemMeta(Cause{}, accountID, "sweep")}
	in.streams = append(in.streams, credits.Stream(accountID), analyses.Stream(sourceID), streams.Stream(sourceID))
	err = s.Pipeline.do(ctx, in, func(ss *session) error {
		balance, err := credits.record(ss, accountID, credit.Expire{SourceID: sourceID})
		if err != nil {
			return err
		}
		if st, err := streams.get(ss, sourceID); err != nil || st.Exists() {
			if err != nil || st.Status == stream.EndedStatus {
				return err
			}
			return expireStream(ss, st, balance)
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
