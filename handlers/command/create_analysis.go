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
	// Webhook is told about this analysis alone, or nil.
	Webhook *analysis.Webhook
	// ValidateOnly takes the whole path and records nothing.
	ValidateOnly bool
}

// PlannedAnalysis is an analysis as it was, or would be, created.
type PlannedAnalysis struct {
	Analysis analysis.State
	// Assessable is true when the form of the question can be answered and the model knows a
	// subject of it.
	Assessable bool
	// Note says why the question is not answered, or not whole; empty when it is.
	Note string
	// DurationS is the video's length in seconds, or nil.
	DurationS *float64
	// EstimatedSeconds is what it will cost, its discount taken off, or nil when the length
	// is unknown.
	EstimatedSeconds *int64
	// DiscountPct is 0 to 100.
	DiscountPct int
}

// CreateAnalysis carries out the use case. Errors: prompt_empty, prompt_too_long,
// parse_failed, model_not_found, model_deprecated, test_key_fixture_only,
// resource_not_found, resource_conflict (video not ready), video_too_long (decoding found
// more than the plan allows), concurrency_limit_exceeded,
// quota_exceeded, insufficient_credits, grant_exhausted, capacity_exhausted,
// inference_unavailable.
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
	plans, err := s.createAnalyses(ctx, caller, []question{{Create: create, unknown: s.unknownTo(ctx, m, create.Query)}}, create.ID, c.ValidateOnly)
	if err != nil {
		return PlannedAnalysis{}, err
	}
	return plans[0], nil
}

// newAnalysis is what all analyses of a caller begin with.
func (s *Service) newAnalysis(caller Caller, videoID, modelID string) analysis.Create {
	return analysis.Create{
		ID: s.IDs.New(id.Analysis), AccountID: caller.AccountID, VideoID: videoID, Livemode: caller.Livemode,
		Origin: analysis.OriginAPI, Model: modelID,
	}
}

// question is one question of a request.
type question struct {
	analysis.Create
	// discountPct is taken off its price.
	discountPct int
	// unknown are the terms of its subjects that the model does not know.
	unknown []string
}

// needsEngine is true for a question that cannot be answered at once.
func (s *Service) needsEngine(o question) bool { return o.Livemode && s.answerable(o) }

// createAnalyses creates all questions of a request about one video, or none. resourceID is
// what the request made.
func (s *Service) createAnalyses(ctx context.Context, caller Caller, questions []question, resourceID string, validateOnly bool) ([]PlannedAnalysis, error) {
	work := 0
	for _, o := range questions {
		if s.needsEngine(o) {
			work++
		}
	}
	if work > 0 && !validateOnly {
		if err := s.checkCapacity(ctx, work); err != nil {
			return nil, err
		}
	}
	videoID := questions[0].VideoID
	in := caller.intent(videos.Stream(videoID), credits.Stream(caller.AccountID))
	in.dryRun = validateOnly
	var plans []PlannedAnalysis
	err := s.Pipeline.do(ctx, in, func(ss *session) (err error) {
		in.created(resourceID)
		plans, err = s.decideAnalyses(ss, caller, videoID, questions, validateOnly)
		return err
	})
	return plans, asExhausted(err, caller.Tier)
}

// checkCapacity refuses work that nobody could do. n is how many analyses there would be
// more.
func (s *Service) checkCapacity(ctx context.Context, n int) error {
	if err := s.Capacity.InferenceReady(ctx); err != nil {
		return err
	}
	queued, err := s.Capacity.QueuedAnalyses(ctx)
	if err != nil {
		return err
	}
	if over := queued + n - s.Limits.AnalysisQueueCap; over > 0 {
		return fault.New(fault.CapacityExhausted, "The queue is full.").WithRetryAfter(s.roomIn(ctx, over))
	}
	return nil
}

const (
	// roomUnknownS is when to come again, in seconds, where nobody can tell when there is room.
	roomUnknownS = 10
	// roomMostS bounds it: places are given up, and nodes are added, before their time.
	roomMostS = 300
)

// roomIn is when a caller for whom the queue has too few places is to come again, in seconds.
func (s *Service) roomIn(ctx context.Context, places int) int {
	seconds, known := s.Capacity.RoomIn(ctx, places)
	if !known {
		return roomUnknownS
	}
	return min(seconds, roomMostS)
}

// decideAnalyses prices all questions first, so that a refusal speaks of the whole request.
// A preview is priced and reserves nothing, so that who has no credits learns how many to
// buy.
func (s *Service) decideAnalyses(ss *session, caller Caller, videoID string, questions []question, preview bool) ([]PlannedAnalysis, error) {
	v, err := videoOf(ss, caller, videoID)
	if err != nil {
		return nil, err
	}
	plans := make([]PlannedAnalysis, len(questions))
	var total int64
	work := 0
	for i, o := range questions {
		plans[i] = PlannedAnalysis{Assessable: s.answerable(o), Note: s.note(o), DurationS: v.DurationS(), DiscountPct: o.discountPct}
		if !s.needsEngine(o) {
			plans[i].EstimatedSeconds = new(int64)
			continue
		}
		held, known := price(v, o.discountPct)
		if known {
			plans[i].EstimatedSeconds = &held
		}
		total += held
		work++
	}
	if work > 0 {
		if err := s.CheckDuration(v.DurationMicros()); err != nil {
			return nil, err
		}
	}
	if work > 0 && !preview {
		if err := s.admit(ss, caller.AccountID, work, total); err != nil {
			return nil, err
		}
	}
	for i, o := range questions {
		if preview {
			ss.fresh(analyses.Stream(o.ID))
			plans[i].Analysis, err = analyses.record(ss, o.ID, o.Create)
		} else {
			plans[i].Analysis, err = s.decideOrder(ss, v, o)
		}
		if err != nil {
			return nil, err
		}
	}
	return plans, nil
}

func (s *Service) decideOrder(ss *session, v video.State, o question) (analysis.State, error) {
	ss.fresh(analyses.Stream(o.ID))
	switch {
	case !o.Livemode:
		return s.answerAtOnce(ss, o.Create, s.Fixture.Answer(o.Query), s.Fixture.Narrative())
	case !s.assessable(o.Query):
		return s.answerAtOnce(ss, o.Create, answer.Refused(o.Query), nil)
	case !s.needsEngine(o):
		return s.answerAtOnce(ss, o.Create, answer.Unknown(o.Query, v.DurationS()), nil)
	}
	o.HeldSeconds, _ = price(v, o.discountPct)
	return s.enqueue(ss, o)
}

// price is what an analysis of a video reserves, in seconds, and whether that is what it
// will cost.
func price(v video.State, discountPct int) (held int64, known bool) {
	full, known := v.BilledSeconds()
	if !known {
		full = unknownDurationHoldS
	}
	return credit.Discounted(full, discountPct), known
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
		return video.State{}, fault.NotFound("video_id", videoID)
	case v.Status != video.ReadyStatus:
		return video.State{}, fault.Newf(fault.ResourceConflict, "The video is %s, not ready.", v.Status).WithParam("video_id")
	}
	return v, nil
}

// answerAtOnce records a question together with an answer that needs no engine and
// costs nothing, and with the narrative that there is, if it was asked for.
func (s *Service) answerAtOnce(ss *session, c analysis.Create, result answer.Result, told []analysis.NarrativeEntry) (analysis.State, error) {
	balance, err := credits.get(ss, c.AccountID)
	if err != nil {
		return analysis.State{}, err
	}
	if _, err := analyses.record(ss, c.ID, c); err != nil {
		return analysis.State{}, err
	}
	if !c.Narrative {
		told = nil
	}
	result.Receipt = answer.NewReceipt(c.Model, c.Query)
	usage := &analysis.Usage{BalanceAfter: &balance.PostedSeconds}
	return analyses.record(ss, c.ID, analysis.Complete{Result: result, Usage: usage, Narrative: told})
}

// admit refuses n analyses of an account that together reserve so many seconds: when too
// many would be active, or when the balance or the quota does not cover all of them.
// Every active analysis has an open hold, a free re-run one of 0 seconds.
func (s *Service) admit(ss *session, accountID string, n int, seconds int64) error {
	balance, err := credits.get(ss, accountID)
	if err != nil {
		return err
	}
	if open := balance.OpenHolds(credit.SourceAnalysis); open+n > s.Limits.MaxConcurrentAnalyses {
		return fault.Newf(fault.ConcurrencyLimitExceeded, "%d analyses of this account are active, and at most %d may be; wait for one to finish.",
			open, s.Limits.MaxConcurrentAnalyses).WithRetryAfter(2)
	}
	_, err = credit.Decide(balance, credit.Hold{Seconds: seconds, QuotaSeconds: s.Limits.QuotaSecondsPerMonth}, ss.now)
	return err
}

// enqueue reserves the credits and puts an admitted question in the queue.
func (s *Service) enqueue(ss *session, o question) (analysis.State, error) {
	if _, err := credits.record(ss, o.AccountID, credit.Hold{
		AccountID: o.AccountID, HoldID: s.IDs.New(id.Transaction), Seconds: o.HeldSeconds, DiscountPct: o.discountPct,
		SourceType: credit.SourceAnalysis, SourceID: o.ID, ExpiresAt: ss.now.Add(holdLife),
		QuotaSeconds: s.Limits.QuotaSecondsPerMonth,
	}); err != nil {
		return analysis.State{}, err
	}
	if _, err := videos.record(ss, o.VideoID, video.OpenAnalysis{AnalysisID: o.ID}); err != nil {
		return analysis.State{}, err
	}
	return analyses.record(ss, o.ID, o.Create)
}
