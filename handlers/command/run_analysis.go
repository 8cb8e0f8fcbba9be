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
	// Attempt counts from 1; together with the analysis it identifies the run.
	Attempt int   `json:"attempt" river:"unique"`
	Cause   Cause `json:"cause"`
}

// workerActor is who reports on a run.
const workerActor = "worker"

func (s *Service) runIntent(r Run) intent {
	return intent{accountID: r.AccountID, meta: s.systemMeta(r.Cause, r.AccountID, workerActor)}
}

// ClaimAnalysis takes the analysis for this attempt. Appending the claim is the
// lock: of two workers one is refused, see IsStale.
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

// ReportProgress records how far the attempt is, in percent of the whole analysis.
func (s *Service) ReportProgress(ctx context.Context, r Run, stage analysis.Status, percent int) error {
	in := s.runIntent(r)
	in.streams = append(in.streams, analyses.Stream(r.AnalysisID))
	return s.Pipeline.do(ctx, in, func(ss *session) error {
		_, err := analyses.record(ss, r.AnalysisID, analysis.Progress{Attempt: r.Attempt, Stage: stage, Percent: percent})
		return err
	})
}

// CompleteAnalysis records the answer and settles the bill in one step. decodedMicros is
// the length that was decoded, in microseconds, > 0: it is what is billed, and from now on
// the length of the video. drawing are the objects that will be drawn of it, or nil.
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

// FailAnalysis ends an attempt without an answer and without a bill. An Attempt of 0
// fails the analysis whoever holds it. A failure while a platform incident is open earns
// a free re-run.
func (s *Service) FailAnalysis(ctx context.Context, r Run, why analysis.Failure) error {
	incidentID, err := s.openIncident(ctx)
	if err != nil {
		return err
	}
	return s.failIn(ctx, r, why, incidentID, 0)
}

// FailTooLong ends an attempt that decoded more than the plan allows, without a bill.
// decodedMicros is the length up to which the video was decoded, in microseconds. The video
// keeps it, so that the next question about it is refused before any work is done.
func (s *Service) FailTooLong(ctx context.Context, r Run, decodedMicros int64) error {
	why := analysis.Failure{
		Code: fault.VideoTooLong, Message: fmt.Sprintf("The video is longer than the %s that the plan allows.", s.Limits.MaxVideoDuration),
	}
	return s.failIn(ctx, r, why, "", decodedMicros)
}

// failIn is FailAnalysis in an incident, or in none when the id is empty. decodedMicros is 0
// when no length was found.
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

// finish is the frame of every end of a run: it frees the video for deletion, and tells it
// the length that was decoded, 0 when none was.
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
			// The aggregate refuses it; asking first keeps the credit rules out of it.
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

// settle debits what an analysis cost; a free re-run, or one of the service itself, costs
// nothing.
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

// release gives back what an analysis had reserved. One of the service itself reserves
// nothing and has no usage.
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

// unbilled is the usage of an analysis that cost nothing: none of a free re-run
// (api-v1.md, "Usage").
func unbilled(a analysis.State, balance credit.State) *analysis.Usage {
	if a.RerunOf != "" {
		return nil
	}
	return &analysis.Usage{BalanceAfter: &balance.PostedSeconds}
}
