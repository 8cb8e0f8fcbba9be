package command

import (
	"context"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/query/english"
	"vqa/domain/video"
	"vqa/eventstore"
)

// demoActor is the actor of events on the account of the service.
const demoActor = "demo"

// demoIntent prepares the pipeline for a command on the account of the service.
func (s *Service) demoIntent(streams ...eventstore.StreamID) intent {
	return intent{accountID: account.SystemID, meta: s.systemMeta(Cause{}, account.SystemID, demoActor), streams: streams}
}

// AddDemoVideo records a demo video whose bytes are already stored. With the first one it opens
// the account of the service. It returns an existing video unchanged, so that two nodes may add
// the same one.
func (s *Service) AddDemoVideo(ctx context.Context, videoID, filename string, file video.File) (video.State, error) {
	var v video.State
	in := s.demoIntent(accounts.Stream(account.SystemID), videos.Stream(videoID))
	err := s.Pipeline.do(ctx, in, func(ss *session) (err error) {
		if v, err = videos.get(ss, videoID); err != nil || v.Exists() {
			return err
		}
		owner, err := accounts.get(ss, account.SystemID)
		if err != nil {
			return err
		}
		if !owner.Exists() {
			if _, err := accounts.record(ss, account.SystemID, account.Open{AccountID: account.SystemID, Tier: account.Paid}); err != nil {
				return err
			}
		}
		v, err = videos.record(ss, videoID, video.RegisterStored{
			Registration: video.Registration{ID: videoID, AccountID: account.SystemID, Livemode: true}, Filename: filename, File: file,
		})
		return err
	})
	return v, err
}

// AskDemo is the command to analyze a demo video.
type AskDemo struct {
	VideoID string
	Prompt  string
	// After is the failed analysis of the same prompt. It is empty the first time.
	After string
}

// AskDemo analyzes a demo video with the default model. The analysis has system origin and is not
// billed (docs/contract.md#billing). Its id is derived from the command, so a repeated command
// returns the same analysis. Errors: resource_not_found, validation_failed for a prompt that the
// service cannot answer.
func (s *Service) AskDemo(ctx context.Context, c AskDemo) (analysis.State, error) {
	m, err := s.Catalog.Resolve("", s.Now())
	if err != nil {
		return analysis.State{}, err
	}
	q := english.Compile(c.Prompt)
	if !answer.Assessable(q) {
		return analysis.State{}, fault.Newf(fault.ValidationFailed, "The service cannot answer %q. Use a supported form of question.", c.Prompt).WithParam("prompt")
	}
	var a analysis.State
	in := s.demoIntent(videos.Stream(c.VideoID))
	err = s.Pipeline.do(ctx, in, func(ss *session) error {
		v, err := videos.get(ss, c.VideoID)
		if err != nil {
			return err
		}
		if !v.Exists() || v.AccountID != account.SystemID {
			return fault.NotFound("video_id", c.VideoID)
		}
		analysisID := id.Derived(id.Analysis, v.CreatedAt, c.VideoID, c.Prompt, m.ID, c.After)
		if a, err = analyses.get(ss, analysisID); err != nil || a.Exists() {
			return err
		}
		if _, err := videos.record(ss, c.VideoID, video.OpenAnalysis{AnalysisID: analysisID}); err != nil {
			return err
		}
		a, err = analyses.record(ss, analysisID, analysis.Create{
			ID: analysisID, AccountID: account.SystemID, VideoID: c.VideoID, Livemode: true, Origin: analysis.OriginSystem,
			Prompt: &c.Prompt, Query: q, ParseMode: analysis.ParseHeuristic, Model: m.ID,
		})
		return err
	})
	return a, err
}
