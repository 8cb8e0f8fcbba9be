package command

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/query"
	"vqa/domain/query/english"
	"vqa/domain/video"
)

func TestCreateAnalysis(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(25)
	videoID := w.readyVideo(caller)
	c := ask(videoID)
	c.Model, c.Narrative, c.Metadata = "MAIN-1", true, map[string]string{"a": "b"}
	plan, err := w.CreateAnalysis(t.Context(), caller, c)
	require.NoError(t, err)
	require.True(t, plan.Assessable)
	require.Equal(t, int64(10), *plan.EstimatedSeconds)
	require.InDelta(t, 9.4, *plan.DurationS, 1e-9)

	a := plan.Analysis
	require.Equal(t, analysis.Queued, a.Status)
	require.Equal(t, "main-2", a.Model, "an alias resolves to the canonical id")
	require.Equal(t, analysis.ParseHeuristic, a.ParseMode)
	require.Equal(t, "Is there a dog?", *a.Prompt)
	require.Equal(t, map[string]string{"a": "b"}, a.Metadata)
	require.Equal(t, int64(10), a.HeldSeconds)
	require.True(t, a.Livemode && a.Narrative)
	require.Equal(t, a, stateOf(w, analyses, a.ID), "the response equals the state of the log")

	balance := stateOf(w, credits, caller.AccountID)
	require.Equal(t, int64(25), balance.PostedSeconds)
	require.Equal(t, int64(15), balance.AvailableSeconds())
	hold, open := balance.Holds.Get(a.ID)
	require.True(t, open)
	require.Equal(t, credit.SourceAnalysis, hold.SourceType)
	require.True(t, stateOf(w, videos, videoID).OpenAnalyses[a.ID])
}

func TestCreateAnalysisRecordsTheCaller(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(25)
	videoID := w.readyVideo(caller)
	before := len(w.history())
	caller.RequestID = "req_42"
	w.queued(caller, videoID)
	recorded := w.history()[before:]
	require.Equal(t, []string{"analysis.created", "credit.held", "video.analysis_opened"}, types(recorded))
	for _, r := range recorded {
		require.Equal(t, caller.AccountID, r.Meta.AccountID)
		require.Equal(t, caller.KeyID, r.Meta.Actor)
		require.Equal(t, "req_42", r.Meta.RequestID)
		require.Equal(t, "req_42", r.Meta.CorrelationID)
	}
}

func TestCreateAnalysisOfUnknownDuration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(100)
	w.intake.file.DurationMicros = nil
	plan, err := w.CreateAnalysis(t.Context(), caller, ask(w.readyVideo(caller)))
	require.NoError(t, err)
	require.Nil(t, plan.EstimatedSeconds)
	require.Nil(t, plan.DurationS)
	require.Equal(t, int64(60), plan.Analysis.HeldSeconds)
}

func TestCreateAnalysisFromAQuery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(100)
	q := english.Compile("How many cars are there?")
	plan, err := w.CreateAnalysis(t.Context(), caller, CreateAnalysis{VideoID: w.readyVideo(caller), Query: &q})
	require.NoError(t, err)
	require.Equal(t, analysis.ParseClient, plan.Analysis.ParseMode)
	require.Equal(t, q, plan.Analysis.Query)
	require.Nil(t, plan.Analysis.Prompt)
}

func TestCreateAnalysisRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withLimits(func(l *Limits) { l.MaxConcurrentAnalyses = 2; l.AnalysisQueueCap = 7 }))
	rich, poor, other, busy := w.account(1000), w.account(9), w.account(1000), w.account(1000)
	free := w.account(9)
	free.Tier = account.FreeGrant
	test, fixtureID := w.sandbox()
	ready, poors, frees, busys := w.readyVideo(rich), w.readyVideo(poor), w.readyVideo(free), w.readyVideo(busy)
	w.queued(busy, busys)
	w.queued(busy, busys)
	uploading, err := w.CreateVideo(t.Context(), rich, CreateVideo{ContentType: "video/mp4"})
	require.NoError(t, err)
	gone := w.readyVideo(rich)
	require.NoError(t, w.DeleteVideo(t.Context(), rich, gone))
	open := CreateAnalysis{VideoID: ready}
	sunk := ask(ready)
	sunk.Model = "old-1"
	unknown := ask(ready)
	unknown.Model = "no-such"

	for name, test := range map[string]struct {
		caller  Caller
		c       CreateAnalysis
		want    fault.Code
		retries bool
	}{
		"neither prompt nor query":                    {rich, open, fault.PromptEmpty, false},
		"unknown model":                               {rich, unknown, fault.ModelNotFound, false},
		"model past its sunset":                       {rich, sunk, fault.ModelDeprecated, false},
		"no such video":                               {rich, ask("video_01JNQ3ZC8A0123456789ABCDEF"), fault.ResourceNotFound, false},
		"a video of another account":                  {other, ask(ready), fault.ResourceNotFound, false},
		"a video that is gone":                        {rich, ask(gone), fault.ResourceNotFound, false},
		"a video that is not ready":                   {rich, ask(uploading.ID), fault.ResourceConflict, false},
		"a live key on a fixture":                     {rich, ask(fixtureID), fault.ResourceNotFound, false},
		"a live key of the same account on a fixture": {Caller{AccountID: test.AccountID, Livemode: true}, ask(fixtureID), fault.ResourceNotFound, false},
		"a test key on a real video":                  {test, ask(ready), fault.TestKeyFixtureOnly, false},
		"a test key on nothing":                       {test, ask("video_01JNQ3ZC8A0123456789ABCDEF"), fault.TestKeyFixtureOnly, false},
		"too few credits":                             {poor, ask(poors), fault.InsufficientCredits, false},
		"a free grant used up":                        {free, ask(frees), fault.GrantExhausted, false},
		"too many at once":                            {busy, ask(busys), fault.ConcurrencyLimitExceeded, true},
	} {
		w.requireUnchanged(func() {
			_, err := w.CreateAnalysis(t.Context(), test.caller, test.c)
			require.True(t, fault.Has(err, test.want), "%s: want %s, got %v", name, test.want, err)
			require.Equal(t, test.retries, fault.Of(err).RetryAfterS > 0, name)
			if test.want == fault.InsufficientCredits || test.want == fault.GrantExhausted {
				require.Equal(t, "credit_seconds", fault.Of(err).Details["meter"], name)
				require.ErrorContains(t, err, "vqa credits grant "+test.caller.AccountID, name)
			}
		})
	}
	w.requireUnchanged(func() {
		w.capacity.queued = 7
		_, err = w.CreateAnalysis(t.Context(), rich, ask(ready))
		requireFault(t, err, fault.CapacityExhausted)
		w.capacity.down = fault.New(fault.InferenceUnavailable, "").WithRetryAfter(5)
		_, err = w.CreateAnalysis(t.Context(), rich, ask(ready))
		requireFault(t, err, fault.InferenceUnavailable)
	})
	w.capacity.queued, w.capacity.down = 6, nil
	_, err = w.CreateAnalysis(t.Context(), rich, ask(ready))
	require.NoError(t, err)
}

// TestRetryAfterOfAFullQueue: when the queue is full, Retry-After estimates when it has room.
func TestRetryAfterOfAFullQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withLimits(func(l *Limits) { l.AnalysisQueueCap = 7 }))
	caller := w.account(1000)
	videoID := w.readyVideo(caller)
	w.capacity.queued = 6
	_, err := w.CreateAnalysis(t.Context(), caller, ask(videoID))
	require.NoError(t, err)
	refused := func(err error) int {
		t.Helper()
		requireFault(t, err, fault.CapacityExhausted)
		return fault.Of(err).RetryAfterS
	}
	one := func() int {
		_, err := w.CreateAnalysis(t.Context(), caller, ask(videoID))
		return refused(err)
	}
	w.capacity.queued = 7
	require.Equal(t, retryDefaultS, one(), "there is no estimate")
	w.capacity.roomS = []int{0, 17, 4000}
	require.Equal(t, 1, one(), "at least one second")
	w.capacity.roomS[0] = 16
	require.Equal(t, 16, one())
	_, err = w.CreateBatch(t.Context(), caller, batchOf(videoID, 2))
	require.Equal(t, 17, refused(err), "two places")
	w.capacity.queued = 6
	_, err = w.CreateBatch(t.Context(), caller, batchOf(videoID, 2))
	require.Equal(t, 16, refused(err), "one of the two places is free")
	w.capacity.queued = 9
	require.Equal(t, retryMaxS, one(), "at most retryMaxS")
}

func TestValidateOnlyReservesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller, poor := w.account(10), w.account(9)
	videoID, poors := w.readyVideo(caller), w.readyVideo(poor)
	w.capacity.down = fault.New(fault.InferenceUnavailable, "")
	w.requireUnchanged(func() {
		preview := ask(videoID)
		preview.ValidateOnly = true
		plan, err := w.CreateAnalysis(t.Context(), caller, preview)
		require.NoError(t, err, "a preview needs no engine")
		require.True(t, plan.Assessable)
		require.Equal(t, int64(10), *plan.EstimatedSeconds)
		require.Equal(t, "dog", plan.Analysis.Query.Subjects[0].Term)

		preview.VideoID = poors
		plan, err = w.CreateAnalysis(t.Context(), poor, preview)
		require.NoError(t, err, "a caller with too few credits sees the price")
		require.Equal(t, int64(10), *plan.EstimatedSeconds)
		preview.VideoID = videoID
		_, err = w.CreateAnalysis(t.Context(), poor, preview)
		requireFault(t, err, fault.ResourceNotFound)
	})
}

// TestUnsupportedQuestion: docs/contract.md#result-7.
func TestUnsupportedQuestion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(5) // less than the price of the video
	videoID := w.readyVideo(caller)
	w.capacity.down = fault.New(fault.InferenceUnavailable, "")
	plan, err := w.CreateAnalysis(t.Context(), caller, CreateAnalysis{VideoID: videoID, Prompt: ptr("Why do people dream?")})
	require.NoError(t, err, "it needs neither an engine nor credits")
	require.False(t, plan.Assessable)
	require.Equal(t, int64(0), *plan.EstimatedSeconds)
	a := plan.Analysis
	require.Equal(t, analysis.CompletedStatus, a.Status)
	require.Equal(t, answer.Indeterminate, a.Result.Answer)
	require.Equal(t, query.UnsupportedQueryForm, *a.Result.IndeterminateReason)
	require.NotNil(t, a.Result.UnsupportedAction)
	require.Equal(t, &analysis.Usage{BalanceAfter: ptr(int64(5))}, a.Usage)
	require.True(t, a.Livemode)

	require.Empty(t, stateOf(w, credits, caller.AccountID).Holds)
	require.NoError(t, w.DeleteVideo(t.Context(), caller, videoID), "it does not prevent the deletion of the video")
}

func TestTestMode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller, fixtureID := w.sandbox()
	w.capacity.down, w.capacity.queued = fault.New(fault.InferenceUnavailable, ""), 1_000_000
	before := len(w.history())
	var results []*answer.Result
	for range 2 {
		plan, err := w.CreateAnalysis(t.Context(), caller, CreateAnalysis{VideoID: fixtureID, Prompt: ptr("Is there a ball?")})
		require.NoError(t, err, "test-mode requests are never refused for capacity")
		require.Equal(t, analysis.CompletedStatus, plan.Analysis.Status)
		require.False(t, plan.Analysis.Livemode)
		require.Equal(t, int64(0), *plan.EstimatedSeconds)
		require.Equal(t, int64(0), plan.Analysis.Usage.BilledSeconds)
		results = append(results, plan.Analysis.Result)
	}
	require.Equal(t, answer.Yes, results[0].Answer)
	require.Equal(t, results[0], results[1], "the same question has the same answer")
	for _, r := range w.history()[before:] {
		require.Equal(t, analyses.Category(), r.Stream.Category, "test mode changes only the analysis")
	}
	_, err := w.CancelAnalysis(t.Context(), caller, w.history()[before].Stream.ID)
	requireFault(t, err, fault.AnalysisNotCancelable)

	// A video that a test key has uploaded is not its fixture.
	v, err := w.CreateVideo(t.Context(), caller, CreateVideo{ContentType: "video/mp4"})
	require.NoError(t, err)
	require.False(t, v.Livemode)
	v, err = w.CompleteVideo(t.Context(), caller, v.ID)
	require.NoError(t, err)
	require.Equal(t, video.ReadyStatus, v.Status)
	_, err = w.CreateAnalysis(t.Context(), caller, ask(v.ID))
	requireFault(t, err, fault.TestKeyFixtureOnly)
}
