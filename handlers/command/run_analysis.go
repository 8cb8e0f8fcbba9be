package command

import (
	"context"
	"fmt"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/video"
)

// Run identifies one attempt at an analysis.
type Run struct {
	AccountID  string `json:"account_id"`
	AnalysisID string `json:"analysis_id" river:"unique"`
	VideoID    string `json:"video_id"`
	// Attempt counts from 1. The analysis and the attempt identify the run.
	Attempt int   `json:"attempt" river:"unique"`
	Cause   Cause `json:"cause"`
}

// workerActor is the actor of events that a worker records.
const workerActor = "worker"

func (s *Service) runIntent(r Run) intent {
	return intent{accountID: r.AccountID, meta: s.systemMeta(r.Cause, r.AccountID, workerActor)}
}

// ClaimAnalysis takes the analysis for this attempt. Appending the claim is the lock: of two
// workers, one is refused with an error that IsStale recognizes.
func (s *Service) ClaimAnalysis(ctx context.Context, r Run, worker string) (analysis.State, video.State, error) {
	in := s.runIntent(r)
	in.streams = append(in.streams, analyses.Stream(r.AnalysisID), videos.Stream(r.VideoID))
	var a analysis.State
	var v video.State
	err := s.Pipeline.do(ctx, in, func(ss *session) (err error) {
		if v, err = videos.get(ss, r.VideoID); err != nil {
			return err
		}
		a, err = analyses.record(ss, r.AnalysisID, analysis.Claim{Attempt: r.Attempt, Worker: worker})
		return err
	})
	return a, v, err
}

// ReportProgress records that the attempt begins a stage, at a percent of the whole analysis.
func (s *Service) ReportProgress(ctx context.Context, r Run, stage analysis.Status, percent int) error {
	in := s.runIntent(r)
	in.streams = append(in.streams, analyses.Stream(r.AnalysisID))
	return s.Pipeline.do(ctx, in, func(ss *session) error {
		_, err := analyses.record(ss, r.AnalysisID, analysis.Progress{Attempt: r.Attempt, Stage: stage, Percent: percent})
		return err
	})
}

// CompleteAnalysis records the answer and settles the hold in one append. decodedMicros is the
// decoded length in microseconds, > 0. It is billed, and it becomes the length of the video.
// drawing names the artifacts that will be rendered next, or is nil.
func (s *Service) CompleteAnalysis(ctx context.Context, r Run, result answer.Result, decodedMicros int64, frames int, drawing *analysis.Artifacts) error {
	return s.finish(ctx, r, decodedMicros, func(ss *session, a analysis.State) error {
		usage, err := s.settle(ss, a, video.WholeSeconds(decodedMicros))
		if err != nil {
			return err
		}
		if usage != nil {
			usage.Frames = &frames
		}
		_, err = analyses.record(ss, r.AnalysisID, analysis.Complete{Attempt: r.Attempt, Result: result, Usage: usage, Drawing: drawing})
		return err
	})
}

// FailAnalysis fails an analysis and releases its hold. With Attempt 0 it does so regardless of
// the current attempt. A failure while a platform incident is open allows a free re-run.
func (s *Service) FailAnalysis(ctx context.Context, r Run, why analysis.Failure) error {
	incidentID, err := s.openIncident(ctx)
	if err != nil {
		return err
	}
	return s.failIn(ctx, r, why, incidentID, 0)
}

// FailTooLong fails an analysis whose video is longer than the plan allows and releases its
// hold. decodedMicros is the length decoded so far, in microseconds. It is recorded for the
// video, so that the next analysis of the video is refused before any work is done.
func (s *Service) FailTooLong(ctx context.Context, r Run, decodedMicros int64) error {
	why := analysis.Failure{
		Code: fault.VideoTooLong, Message: fmt.Sprintf("The video is longer than the %s that the plan allows.", s.Limits.MaxVideoDuration),
	}
	return s.failIn(ctx, r, why, "", decodedMicros)
}

// failIn fails an analysis in an incident. incidentID is empty when no incident is open.
// decodedMicros is 0 when the length is not known.
func (s *Service) failIn(ctx context.Context, r Run, why analysis.Failure, incidentID string, decodedMicros int64) error {
	return s.finish(ctx, r, decodedMicros, func(ss *session, a analysis.State) error {
		usage, err := release(ss, a)
		if err != nil {
			return err
		}
		_, err = analyses.record(ss, r.AnalysisID, analysis.Fail{Attempt: r.Attempt, Error: why, Usage: usage, IncidentID: incidentID})
		return err
	})
}

// finish runs end and, in the same append, closes the analysis for its video: the video may
// then be deleted. It also records the decoded length, 0 when there is none.
func (s *Service) finish(ctx context.Context, r Run, decodedMicros int64, end func(*session, analysis.State) error) error {
	in := s.runIntent(r)
	in.streams = append(in.streams,
		analyses.Stream(r.AnalysisID), videos.Stream(r.VideoID), credits.Stream(r.AccountID))
	return s.Pipeline.do(ctx, in, func(ss *session) error {
		a, err := analyses.get(ss, r.AnalysisID)
		if err != nil {
			return err
		}
		if a.Status.Terminal() {
			// Return the refusal of the analysis, not that of a hold that has already ended.
			_, err := analysis.Decide(a, analysis.Fail{}, ss.now)
			return err
		}
		_, err = videos.record(ss, r.VideoID, video.CloseAnalysis{AnalysisID: r.AnalysisID, DecodedMicros: decodedMicros})
		if err != nil {
			return err
		}
		return end(ss, a)
	})
}

// settle debits the price of an analysis. A free re-run and an analysis of the service itself
// cost nothing.
func (s *Service) settle(ss *session, a analysis.State, seconds int64) (*analysis.Usage, error) {
	if a.RerunOf != "" || a.Origin == analysis.OriginSystem {
		return release(ss, a)
	}
	before, err := credits.get(ss, a.AccountID)
	if err != nil {
		return nil, err
	}
	after, err := credits.record(ss, a.AccountID, credit.Settle{
		SourceID: a.ID, TransactionID: s.IDs.New(id.Transaction), Seconds: seconds,
	})
	if err != nil {
		return nil, err
	}
	return &analysis.Usage{BilledSeconds: before.PostedSeconds - after.PostedSeconds, BalanceAfter: &after.PostedSeconds}, nil
}

// release releases the hold of an analysis. An analysis of the service itself has no hold and
// no usage.
func release(ss *session, a analysis.State) (*analysis.Usage, error) {
	if a.Origin == analysis.OriginSystem {
		return nil, nil
	}
	after, err := credits.record(ss, a.AccountID, credit.Release{SourceID: a.ID})
	if err != nil {
		return nil, err
	}
	return unbilled(a, after), nil
}

// unbilled returns the usage of an analysis that cost nothing. A free re-run has no usage
// (docs/contract.md#usage-of-analysis).
func unbilled(a analysis.State, balance credit.State) *analysis.Usage {
	if a.RerunOf != "" {
		return nil
	}
	return &analysis.Usage{BalanceAfter: &balance.PostedSeconds}
}
