package command

import (
	"context"
	"time"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/query"
	"vqa/domain/video"
)

// unknownDurationHoldS is held for a video of unknown duration (open-points.md,
// "Credits").
const unknownDurationHoldS = 60

// holdLife is when the credits of an analysis are given back that nobody ended. It is
// longer than all attempts at the longest analysis together.
const holdLife = 24 * time.Hour

// CreateAnalysis asks a question. Exactly one of Prompt and Query is set.
type CreateAnalysis struct {
	VideoID string
	// Prompt is 1 to 2000 characters.
	Prompt    *string
	Query     *query.Query
	Model     string
	Narrative bool
	Metadata  map[string]string
	// ValidateOnly takes the whole path and records nothing.
	ValidateOnly bool
}

// PlannedAnalysis is an analysis as it was, or would be, created.
type PlannedAnalysis struct {
	Analysis analysis.State
	// Assessable is true when the form of the question can be answered.
	Assessable bool
	// DurationS is the video's length in seconds, or nil.
	DurationS *float64
	// EstimatedSeconds is what it will cost, or nil when the length is unknown.
	EstimatedSeconds *int64
}

// CreateAnalysis carries out the use case. Errors: model_not_found,
// model_deprecated, test_key_fixture_only, resource_not_found, resource_conflict
// (video not ready), concurrency_limit_exceeded, insufficient_credits,
// grant_exhausted, capacity_exhausted, inference_unavailable.
func (s *Service) CreateAnalysis(ctx context.Context, caller Caller, c CreateAnalysis) (PlannedAnalysis, error) {
	create, err := s.planAnalysis(caller, c)
	if err != nil {
		return PlannedAnalysis{}, err
	}
	assessable := query.Assessable(create.Query)
	if caller.Livemode && assessable && !c.ValidateOnly {
		if err := s.checkCapacity(ctx); err != nil {
			return PlannedAnalysis{}, err
		}
	}
	in := caller.intent(videos.Stream(c.VideoID), credits.Stream(caller.AccountID))
	in.dryRun = c.ValidateOnly
	var plan PlannedAnalysis
	err = s.Pipeline.do(ctx, in, func(ss *session) error {
		ss.fresh(analyses.Stream(create.ID))
		in.created(create.ID)
		plan, err = s.decideAnalysis(ss, caller, create, assessable)
		return err
	})
	return plan, asExhausted(err, caller.Tier)
}

// planAnalysis compiles the question and resolves the model.
func (s *Service) planAnalysis(caller Caller, c CreateAnalysis) (analysis.Create, error) {
	m, err := s.Catalog.Resolve(c.Model, s.Now())
	if err != nil {
		return analysis.Create{}, err
	}
	create := analysis.Create{
		ID: s.IDs.New(id.Analysis), AccountID: caller.AccountID, VideoID: c.VideoID, Livemode: caller.Livemode,
		Origin: analysis.OriginAPI, Prompt: c.Prompt, Model: m.ID, Narrative: c.Narrative, Metadata: c.Metadata,
	}
	switch {
	case c.Query != nil:
		create.Query, create.ParseMode = *c.Query, analysis.ParseClient
	case c.Prompt != nil:
		create.Query, create.ParseMode = query.Compile(*c.Prompt), analysis.ParseHeuristic
	default:
		return analysis.Create{}, fault.New(fault.PromptEmpty, "").WithParam("prompt")
	}
	return create, nil
}

// checkCapacity refuses work that nobody could do.
func (s *Service) checkCapacity(ctx context.Context) error {
	if err := s.Capacity.InferenceReady(ctx); err != nil {
		return err
	}
	queued, err := s.Capacity.QueuedAnalyses(ctx)
	if err != nil {
		return err
	}
	if queued >= s.Limits.AnalysisQueueCap {
		return fault.New(fault.CapacityExhausted, "The queue is full.").WithRetryAfter(10)
	}
	return nil
}

func (s *Service) decideAnalysis(ss *session, caller Caller, c analysis.Create, assessable bool) (PlannedAnalysis, error) {
	v, err := videoOf(ss, caller, c.VideoID)
	if err != nil {
		return PlannedAnalysis{}, err
	}
	plan := PlannedAnalysis{Assessable: assessable, DurationS: v.DurationS()}
	if seconds, known := v.BilledSeconds(); known {
		plan.EstimatedSeconds = &seconds
	}
	switch {
	case !caller.Livemode:
		plan.EstimatedSeconds = new(int64)
		plan.Analysis, err = s.answerAtOnce(ss, c, s.Fixture.Answer(c.Query))
	case !assessable:
		plan.EstimatedSeconds = new(int64)
		plan.Analysis, err = s.answerAtOnce(ss, c, answer.Refused(c.Query))
	default:
		plan.Analysis, err = s.enqueue(ss, c, plan.EstimatedSeconds)
	}
	return plan, err
}

// videoOf returns the caller's ready video. A test key learns nothing about any
// video but its fixture (api-v1.md, "Mode rules").
func videoOf(ss *session, caller Caller, videoID string) (video.State, error) {
	v, err := videos.get(ss, videoID)
	if err != nil {
		return video.State{}, err
	}
	own := v.Exists() && v.AccountID == caller.AccountID && v.Livemode == caller.Livemode
	switch {
	case !caller.Livemode && (!own || !v.Fixture):
		return video.State{}, fault.New(fault.TestKeyFixtureOnly, "")
	case !own:
		return video.State{}, fault.NotFound()
	case v.Status != video.ReadyStatus:
		return video.State{}, fault.Newf(fault.ResourceConflict, "The video is %s, not ready.", v.Status).WithParam("video_id")
	}
	return v, nil
}

// answerAtOnce records a question together with an answer that needs no engine and
// costs nothing.
func (s *Service) answerAtOnce(ss *session, c analysis.Create, result answer.Result) (analysis.State, error) {
	balance, err := credits.get(ss, c.AccountID)
	if err != nil {
		return analysis.State{}, err
	}
	if _, err := analyses.record(ss, c.ID, c); err != nil {
		return analysis.State{}, err
	}
	usage := &analysis.Usage{BalanceAfter: &balance.PostedSeconds}
	return analyses.record(ss, c.ID, analysis.Complete{Result: result, Usage: usage})
}

// enqueue reserves the credits and puts the question in the queue.
func (s *Service) enqueue(ss *session, c analysis.Create, estimate *int64) (analysis.State, error) {
	balance, err := credits.get(ss, c.AccountID)
	if err != nil {
		return analysis.State{}, err
	}
	if open := balance.OpenHolds(credit.SourceAnalysis); open >= s.Limits.MaxConcurrentAnalyses {
		return analysis.State{}, fault.Newf(fault.ConcurrencyLimitExceeded,
			"%d analyses of this account are active; wait for one to finish.", open).WithRetryAfter(2)
	}
	c.HeldSeconds = unknownDurationHoldS
	if estimate != nil {
		c.HeldSeconds = *estimate
	}
	if _, err := credits.record(ss, c.AccountID, credit.Hold{
		AccountID: c.AccountID, HoldID: s.IDs.New(id.Transaction), Seconds: c.HeldSeconds,
		SourceType: credit.SourceAnalysis, SourceID: c.ID, ExpiresAt: ss.now.Add(holdLife),
	}); err != nil {
		return analysis.State{}, err
	}
	if _, err := videos.record(ss, c.VideoID, video.OpenAnalysis{AnalysisID: c.ID}); err != nil {
		return analysis.State{}, err
	}
	return analyses.record(ss, c.ID, c)
}
