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

// unknownDurationHoldS is the hold, in seconds, for a video of unknown duration
// (docs/contract.md#holds).
const unknownDurationHoldS = 60

// holdLife is how long a hold of an analysis lasts. Then its credits are released, even
// when the analysis has not ended. It is longer than all attempts at the longest analysis.
const holdLife = 24 * time.Hour

// CreateAnalysis is the command to analyze a video. Exactly one of Prompt and Query is set.
type CreateAnalysis struct {
	VideoID string
	// Prompt is 1 to 2000 characters.
	Prompt    *string
	Query     *query.Query
	Model     string
	Narrative bool
	Metadata  map[string]string
	// Webhook receives the events of this analysis only. It may be nil.
	Webhook *analysis.Webhook
	// ValidateOnly checks and prices the request and records nothing.
	ValidateOnly bool
}

// PlannedAnalysis is a created analysis, or with ValidateOnly the analysis that a real
// request would create.
type PlannedAnalysis struct {
	Analysis analysis.State
	// Assessable is true when the service answers this form of question and the model knows
	// at least one of its subjects.
	Assessable bool
	// Note says why the prompt gets no answer or only a partial one. It is empty otherwise.
	Note string
	// DurationS is the video's length in seconds, or nil.
	DurationS *float64
	// EstimatedSeconds is the price after the discount, or nil when the length is unknown.
	EstimatedSeconds *int64
	// DiscountPct is 0 to 100.
	DiscountPct int
}

// CreateAnalysis creates an analysis of a video. Errors: prompt_empty, prompt_too_long,
// parse_failed, model_not_found, model_deprecated, test_key_fixture_only,
// resource_not_found, resource_conflict (video not ready), video_too_long (the video is
// longer than the plan allows), concurrency_limit_exceeded, quota_exceeded,
// insufficient_credits, grant_exhausted, capacity_exhausted, inference_unavailable.
func (s *Service) CreateAnalysis(ctx context.Context, caller Caller, c CreateAnalysis) (PlannedAnalysis, error) {
	m, err := s.Catalog.Resolve(c.Model, s.Now())
	if err != nil {
		return PlannedAnalysis{}, err
	}
	create := s.newAnalysis(caller, c.VideoID, m.ID)
	create.Prompt, create.Narrative, create.Metadata, create.Webhook = c.Prompt, c.Narrative, c.Metadata, c.Webhook
	switch {
	case c.Query != nil:
		create.Query, create.ParseMode = *c.Query, analysis.ParseClient
	case c.Prompt != nil:
		read, err := s.readPrompts(ctx, caller, []string{*c.Prompt}, func(int) string { return "prompt" })
		if err != nil {
			return PlannedAnalysis{}, err
		}
		create.Query, create.ParseMode = read[0].query, read[0].mode
	default:
		return PlannedAnalysis{}, fault.New(fault.PromptEmpty, "").WithParam("prompt")
	}
	plans, err := s.createAnalyses(ctx, caller, []analysisRequest{{Create: create, unknown: s.unknownTo(ctx, m, create.Query)}}, create.ID, c.ValidateOnly)
	if err != nil {
		return PlannedAnalysis{}, err
	}
	return plans[0], nil
}

// newAnalysis returns a command with the fields that all analyses of a caller share.
func (s *Service) newAnalysis(caller Caller, videoID, modelID string) analysis.Create {
	return analysis.Create{
		ID: s.IDs.New(id.Analysis), AccountID: caller.AccountID, VideoID: videoID, Livemode: caller.Livemode,
		Origin: analysis.OriginAPI, Model: modelID,
	}
}

// analysisRequest is one analysis that a request asks for.
type analysisRequest struct {
	analysis.Create
	// discountPct is the discount on its price, 0 to 100.
	discountPct int
	// unknown lists the terms of its subjects that the model does not know.
	unknown []string
}

// needsEngine reports whether the analysis needs detections. The others are answered at once.
func (s *Service) needsEngine(r analysisRequest) bool { return r.Livemode && s.answerable(r) }

// createAnalyses creates all analyses of one API request about one video, or none.
// resourceID is the id of the analysis or batch that the API request creates.
func (s *Service) createAnalyses(ctx context.Context, caller Caller, requests []analysisRequest, resourceID string, validateOnly bool) ([]PlannedAnalysis, error) {
	work := 0
	for _, r := range requests {
		if s.needsEngine(r) {
			work++
		}
	}
	if work > 0 && !validateOnly {
		if err := s.checkCapacity(ctx, work); err != nil {
			return nil, err
		}
	}
	videoID := requests[0].VideoID
	in := caller.intent(videos.Stream(videoID), credits.Stream(caller.AccountID))
	in.dryRun = validateOnly
	var plans []PlannedAnalysis
	err := s.Pipeline.do(ctx, in, func(ss *session) (err error) {
		in.created(resourceID)
		plans, err = s.decideAnalyses(ss, caller, videoID, requests, validateOnly)
		return err
	})
	return plans, asExhausted(err, caller.Tier)
}

// checkCapacity refuses n more analyses when no engine answers or the queue is full.
func (s *Service) checkCapacity(ctx context.Context, n int) error {
	if err := s.Capacity.InferenceReady(ctx); err != nil {
		return err
	}
	queued, err := s.Capacity.QueuedAnalyses(ctx)
	if err != nil {
		return err
	}
	if over := queued + n - s.Limits.AnalysisQueueCap; over > 0 {
		return fault.New(fault.CapacityExhausted, "The analysis queue is full. Wait for the time in Retry-After, then try again.").WithRetryAfter(s.queueRetryAfter(ctx, over))
	}
	return nil
}

const (
	// retryDefaultS is the Retry-After, in seconds, when there is no estimate.
	retryDefaultS = 10
	// retryMaxS bounds the Retry-After, in seconds. The queue may drain before the estimate,
	// because analyses are canceled and nodes are added.
	retryMaxS = 300
)

// queueRetryAfter returns the seconds until the queue is likely to have so many places.
func (s *Service) queueRetryAfter(ctx context.Context, places int) int {
	seconds, known := s.Capacity.RoomIn(ctx, places)
	if !known {
		return retryDefaultS
	}
	return min(seconds, retryMaxS)
}

// decideAnalyses prices all analyses first, so that a refusal covers the whole request.
// A preview is priced and reserves nothing, so that a caller without credits sees the price.
func (s *Service) decideAnalyses(ss *session, caller Caller, videoID string, requests []analysisRequest, preview bool) ([]PlannedAnalysis, error) {
	v, err := videoOf(ss, caller, videoID)
	if err != nil {
		return nil, err
	}
	plans := make([]PlannedAnalysis, len(requests))
	var total int64
	work := 0
	for i, r := range requests {
		plans[i] = PlannedAnalysis{Assessable: s.answerable(r), Note: s.note(r), DurationS: v.DurationS(), DiscountPct: r.discountPct}
		if !s.needsEngine(r) {
			plans[i].EstimatedSeconds = new(int64)
			continue
		}
		held, known := price(v, r.discountPct)
		if known {
			plans[i].EstimatedSeconds = &held
		}
		total += held
		work++
	}
	if work > 0 {
		if err := s.checkDuration(v.DurationMicros()); err != nil {
			return nil, err
		}
	}
	if work > 0 && !preview {
		// A discount can make the price of a short video 0. That is not for accounts without credits.
		if err := s.admit(ss, caller, work, max(total, 1)); err != nil {
			return nil, err
		}
	}
	for i, r := range requests {
		if preview {
			ss.fresh(analyses.Stream(r.ID))
			plans[i].Analysis, err = analyses.record(ss, r.ID, r.Create)
		} else {
			plans[i].Analysis, err = s.createOne(ss, caller, v, r)
		}
		if err != nil {
			return nil, err
		}
	}
	return plans, nil
}

// createOne records one analysis: with its answer when that needs no engine, else in the queue.
func (s *Service) createOne(ss *session, caller Caller, v video.State, r analysisRequest) (analysis.State, error) {
	ss.fresh(analyses.Stream(r.ID))
	switch {
	case !r.Livemode:
		return s.answerAtOnce(ss, r.Create, s.Fixture.Answer(r.Query), s.Fixture.Narrative())
	case !s.assessable(r.Query):
		return s.answerAtOnce(ss, r.Create, answer.Refused(r.Query), nil)
	case !s.needsEngine(r):
		return s.answerAtOnce(ss, r.Create, answer.Unknown(r.Query, v.DurationS()), nil)
	}
	r.HeldSeconds, _ = price(v, r.discountPct)
	return s.enqueue(ss, caller, r)
}

// price returns the seconds that an analysis of a video reserves. known is true when this is
// also the final price.
func price(v video.State, discountPct int) (held int64, known bool) {
	full, known := v.BilledSeconds()
	if !known {
		full = unknownDurationHoldS
	}
	return credit.Discounted(full, discountPct), known
}

// videoOf returns the caller's ready video. A test key gets the same refusal for every video
// except its fixture, whether the video exists or not (docs/contract.md#modes).
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
		return video.State{}, fault.NotFound("video_id", videoID)
	case v.Status != video.ReadyStatus:
		return video.State{}, fault.Newf(fault.ResourceConflict, "The video has status %s. An analysis needs a video with status ready.", v.Status).WithParam("video_id")
	}
	return v, nil
}

// answerAtOnce records an analysis together with an answer that needs no engine and costs
// nothing. The narrative is recorded only if the caller asked for one.
func (s *Service) answerAtOnce(ss *session, c analysis.Create, result answer.Result, narrative []analysis.NarrativeEntry) (analysis.State, error) {
	balance, err := credits.get(ss, c.AccountID)
	if err != nil {
		return analysis.State{}, err
	}
	if _, err := analyses.record(ss, c.ID, c); err != nil {
		return analysis.State{}, err
	}
	if !c.Narrative {
		narrative = nil
	}
	result.Receipt = answer.NewReceipt(c.Model, c.Query)
	usage := &analysis.Usage{BalanceAfter: &balance.PostedSeconds}
	return analyses.record(ss, c.ID, analysis.Complete{Result: result, Usage: usage, Narrative: narrative})
}

// admit refuses n analyses that together reserve so many seconds when too many would be
// active, or when the balance, the quota or the spending limit of the agent does not cover all of them. It counts open holds:
// every active analysis has one, and that of a free re-run is 0 seconds.
func (s *Service) admit(ss *session, caller Caller, n int, seconds int64) error {
	balance, err := credits.get(ss, caller.AccountID)
	if err != nil {
		return err
	}
	if open := balance.OpenHolds(credit.SourceAnalysis); open+n > s.Limits.MaxConcurrentAnalyses {
		return fault.Newf(fault.ConcurrencyLimitExceeded, "This account has %d active analyses and may have at most %d. Wait until one finishes.",
			open, s.Limits.MaxConcurrentAnalyses).WithRetryAfter(2)
	}
	_, err = credit.Decide(balance, credit.Hold{
		AccountID: caller.AccountID, Seconds: seconds, QuotaSeconds: s.Limits.QuotaSecondsPerMonth,
		GrantID: caller.GrantID, GrantLimitSeconds: caller.GrantLimitSeconds,
	}, ss.now)
	return err
}

// enqueue reserves the credits and puts an admitted analysis in the queue.
func (s *Service) enqueue(ss *session, caller Caller, r analysisRequest) (analysis.State, error) {
	if _, err := credits.record(ss, r.AccountID, credit.Hold{
		AccountID: r.AccountID, HoldID: s.IDs.New(id.Transaction), Seconds: r.HeldSeconds, DiscountPct: r.discountPct,
		SourceType: credit.SourceAnalysis, SourceID: r.ID, ExpiresAt: ss.now.Add(holdLife),
		QuotaSeconds: s.Limits.QuotaSecondsPerMonth, GrantID: caller.GrantID, GrantLimitSeconds: caller.GrantLimitSeconds,
	}); err != nil {
		return analysis.State{}, err
	}
	if _, err := videos.record(ss, r.VideoID, video.OpenAnalysis{AnalysisID: r.ID}); err != nil {
		return analysis.State{}, err
	}
	return analyses.record(ss, r.ID, r.Create)
}
