package command

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/credit"
	"vqa/domain/fault"
)

// batchOf returns a batch of so many answerable prompts, at half price after the first.
func batchOf(videoID string, n int) CreateBatch {
	c := CreateBatch{VideoID: videoID, DiscountPct: 50}
	for i := range n {
		c.Prompts = append(c.Prompts, []string{"Is there a dog?", "How many cars are there?", "Is there a cat?"}[i%3])
	}
	return c
}

func TestBatchHoldsAndSettlesAtItsDiscount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(25)
	w.intake.file.DurationMicros = micros(10_100_000) // bills 11, then 5
	c := batchOf(w.readyVideo(caller), 3)
	c.Model, c.Narrative, c.Metadata = "MAIN-1", true, map[string]string{"a": "b"}
	c.Webhook = &analysis.Webhook{URL: "https://example.com/hook", Events: []string{"analysis.completed"}}
	before := len(w.history())
	batch, err := w.CreateBatch(t.Context(), caller, c)
	require.NoError(t, err)
	require.Regexp(t, "^batch_[0-9A-HJKMNP-TV-Z]{26}$", batch.ID)
	require.Len(t, w.history()[before:], 9, "a hold, an open video and an analysis each, in one append")
	for i, want := range []int64{11, 5, 5} {
		p := batch.Analyses[i]
		require.Equal(t, want, *p.EstimatedSeconds)
		require.Equal(t, []int{0, 50, 50}[i], p.DiscountPct)
		a := stateOf(w, analyses, p.Analysis.ID)
		require.Equal(t, p.Analysis, a, "the response equals the state of the log")
		require.Equal(t, want, a.HeldSeconds)
		require.Equal(t, batch.ID, a.BatchID)
		require.Equal(t, i, a.BatchIndex)
		require.Equal(t, "main-2", a.Model)
		require.Equal(t, c.Webhook, a.Webhook)
		require.Equal(t, c.Prompts[i], *a.Prompt)
		hold, open := stateOf(w, credits, caller.AccountID).Holds.Get(a.ID)
		require.True(t, open)
		require.Equal(t, p.DiscountPct, hold.DiscountPct)
	}
	require.Equal(t, int64(4), stateOf(w, credits, caller.AccountID).AvailableSeconds())

	run := Run{AccountID: caller.AccountID, VideoID: c.VideoID, Attempt: 1}
	for i, want := range []int64{11, 5} {
		run.AnalysisID = batch.Analyses[i].Analysis.ID
		_, _, err = w.ClaimAnalysis(t.Context(), run, "worker")
		require.NoError(t, err)
		require.NoError(t, w.CompleteAnalysis(t.Context(), run, yes(), 10_100_000, 3, nil))
		require.Equal(t, want, stateOf(w, analyses, run.AnalysisID).Usage.BilledSeconds)
	}
	last, err := w.CancelAnalysis(t.Context(), caller, batch.Analyses[2].Analysis.ID)
	require.NoError(t, err)
	require.Zero(t, last.Usage.BilledSeconds)
	require.Equal(t, int64(9), stateOf(w, credits, caller.AccountID).AvailableSeconds())
	w.requireLaws()
}

// TestBatchOfUnknownDuration: each prompt holds 60 s less its discount, and settles the decoded length less
// its discount.
func TestBatchOfUnknownDuration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(1000)
	w.intake.file.DurationMicros = nil
	batch, err := w.CreateBatch(t.Context(), caller, batchOf(w.readyVideo(caller), 2))
	require.NoError(t, err)
	for i, want := range []int64{101, 50} {
		p := batch.Analyses[i]
		require.Nil(t, p.EstimatedSeconds)
		require.Equal(t, []int64{60, 30}[i], p.Analysis.HeldSeconds)
		run := Run{AccountID: caller.AccountID, AnalysisID: p.Analysis.ID, VideoID: batch.VideoID, Attempt: 1}
		_, _, err := w.ClaimAnalysis(t.Context(), run, "worker")
		require.NoError(t, err)
		require.NoError(t, w.CompleteAnalysis(t.Context(), run, yes(), 100_500_000, 3, nil))
		require.Equal(t, want, stateOf(w, analyses, run.AnalysisID).Usage.BilledSeconds)
	}
	w.requireLaws()
}

// TestAFreeBatchNeedsCredits: the later prompts about a video of one second cost nothing, and neither does a first prompt
// that cannot be answered. An account without credits gets no work done in this way.
func TestAFreeBatchNeedsCredits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.intake.file.DurationMicros = micros(1_000_000)
	for seconds, code := range map[int64]fault.Code{0: fault.InsufficientCredits, 1: ""} {
		caller := w.account(seconds)
		c := batchOf(w.readyVideo(caller), 2)
		c.Prompts[0] = "Why?"
		c.ValidateOnly = true
		preview, err := w.CreateBatch(t.Context(), caller, c)
		require.NoError(t, err)
		require.Equal(t, []bool{false, true}, []bool{preview.Analyses[0].Assessable, preview.Analyses[1].Assessable})
		require.Zero(t, *preview.Analyses[1].EstimatedSeconds)
		c.ValidateOnly = false
		_, err = w.CreateBatch(t.Context(), caller, c)
		if code == "" {
			require.NoError(t, err)
		} else {
			require.True(t, fault.Has(err, code), "%v", err)
		}
	}
	w.requireLaws()
}

func TestBatchIsAllOrNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withLimits(func(l *Limits) { l.MaxConcurrentAnalyses = 3; l.AnalysisQueueCap = 7; l.QuotaSecondsPerMonth = 24 }))
	rich, poor, free := w.account(1000), w.account(19), w.account(19)
	free.Tier = account.FreeGrant
	ready, poors, frees := w.readyVideo(rich), w.readyVideo(poor), w.readyVideo(free)
	test, _ := w.sandbox()
	blank, long, dots := batchOf(ready, 3), batchOf(ready, 3), batchOf(ready, 3)
	blank.Prompts[2], long.Prompts[1], dots.Prompts[2] = " ", strings.Repeat("a", 2001), "?!"
	sunk := batchOf(ready, 2)
	sunk.Model = "old-1"
	queue := func(n int) func() { return func() { w.capacity.queued = n } }

	for name, tt := range map[string]struct {
		caller Caller
		c      CreateBatch
		before func()
		want   fault.Code
		param  string
	}{
		"an empty prompt":                     {rich, blank, nil, fault.PromptEmpty, "prompts.2"},
		"a prompt that is too long":           {rich, long, nil, fault.PromptTooLong, "prompts.1"},
		"a prompt without words":              {rich, dots, nil, fault.ParseFailed, "prompts.2"},
		"a model past its sunset":             {rich, sunk, nil, fault.ModelDeprecated, "model"},
		"a video of another account":          {poor, batchOf(ready, 2), nil, fault.ResourceNotFound, "video_id"},
		"a test key on a real video":          {test, batchOf(ready, 2), nil, fault.TestKeyFixtureOnly, ""},
		"credits for two of three":            {poor, batchOf(poors, 3), nil, fault.InsufficientCredits, ""},
		"a free grant for two":                {free, batchOf(frees, 3), nil, fault.GrantExhausted, ""},
		"room in the queue for one":           {rich, batchOf(ready, 2), queue(6), fault.CapacityExhausted, ""},
		"more active analyses than the limit": {rich, batchOf(ready, 5), queue(0), fault.ConcurrencyLimitExceeded, ""},
	} {
		if w.capacity.queued = 0; tt.before != nil {
			tt.before()
		}
		w.requireUnchanged(func() {
			_, err := w.CreateBatch(t.Context(), tt.caller, tt.c)
			require.True(t, fault.Has(err, tt.want), "%s: want %s, got %v", name, tt.want, err)
			require.Equal(t, tt.param, fault.Of(err).Param, name)
			if tt.want == fault.InsufficientCredits {
				require.Equal(t, int64(20), fault.Of(err).Details["needed_seconds"], "it is the price of the whole batch")
				require.Equal(t, int64(19), fault.Of(err).Details["available_seconds"])
			}
		})
	}
	w.capacity.queued = 5
	_, err := w.CreateBatch(t.Context(), rich, batchOf(ready, 2))
	require.NoError(t, err, "15 of the month's 24 seconds")
	w.capacity.queued = 0
	w.requireUnchanged(func() {
		_, err = w.CreateAnalysis(t.Context(), rich, ask(ready))
		requireFault(t, err, fault.QuotaExceeded)
		require.Equal(t, credit.QuotaMeter, fault.Of(err).Details["meter"])
		require.Positive(t, fault.Of(err).RetryAfterS)
	})
}

// TestBatchOfMixedQuestions: a prompt that the service cannot answer is completed at once and is free.
func TestBatchOfMixedQuestions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(5)
	c := batchOf(w.readyVideo(caller), 3)
	c.Prompts[0], c.Prompts[2] = "Why do people dream?", "What does it mean?"
	batch, err := w.CreateBatch(t.Context(), caller, c)
	require.NoError(t, err)
	require.Equal(t, []int64{0, 5, 0}, []int64{*batch.Analyses[0].EstimatedSeconds, *batch.Analyses[1].EstimatedSeconds, *batch.Analyses[2].EstimatedSeconds})
	for i, p := range batch.Analyses {
		require.Equal(t, i == 1, p.Assessable)
		require.Equal(t, i != 1, p.Analysis.Status.Terminal())
	}
	require.Equal(t, int64(0), stateOf(w, credits, caller.AccountID).AvailableSeconds(), "the second prompt is discounted all the same")
	w.requireLaws()
}

func TestBatchOfATestKeyIsCanned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller, fixtureID := w.sandbox()
	w.capacity.down = fault.New(fault.InferenceUnavailable, "")
	c := batchOf(fixtureID, 10)
	c.Prompts[0] = "Is there a ball?"
	batch, err := w.CreateBatch(t.Context(), caller, c)
	require.NoError(t, err)
	require.Equal(t, answer.Yes, batch.Analyses[0].Analysis.Result.Answer)
	for _, p := range batch.Analyses {
		require.Equal(t, analysis.CompletedStatus, p.Analysis.Status)
		require.False(t, p.Analysis.Livemode)
		require.Zero(t, *p.EstimatedSeconds)
	}
	require.Empty(t, stateOf(w, credits, caller.AccountID).Holds)
}

func TestBatchPreviewAndReceipt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(100)
	c := batchOf(w.readyVideo(caller), 2)
	c.ValidateOnly = true
	w.requireUnchanged(func() {
		w.capacity.down = fault.New(fault.InferenceUnavailable, "")
		batch, err := w.CreateBatch(t.Context(), caller, c)
		require.NoError(t, err, "a preview needs no engine")
		require.Equal(t, int64(15), *batch.Analyses[0].EstimatedSeconds+*batch.Analyses[1].EstimatedSeconds)
	})
	w.capacity.down, c.ValidateOnly = nil, false
	keyed := caller.keyed("k", "body")
	batch, err := w.CreateBatch(t.Context(), keyed, c)
	require.NoError(t, err)
	receipt, err := w.Replay(t.Context(), keyed)
	require.NoError(t, err)
	require.Equal(t, batch.ID, receipt.ResourceID)
}

// TestConcurrentBatchesStayWithinTheCap: simultaneous batches together stay within the limit.
func TestConcurrentBatchesStayWithinTheCap(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withLimits(func(l *Limits) { l.MaxConcurrentAnalyses = 7 }))
	caller := w.account(1000)
	videoID := w.readyVideo(caller)
	errs := together(8, func(int) error {
		_, err := w.CreateBatch(t.Context(), caller, batchOf(videoID, 2))
		return err
	})
	require.Equal(t, map[string]int{"ok": 3, string(fault.ConcurrencyLimitExceeded): 5}, tally(errs))
	require.Equal(t, 6, stateOf(w, credits, caller.AccountID).OpenHolds(credit.SourceAnalysis))
	w.requireLaws()
}

func TestParse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for prompt, want := range map[string]fault.Code{
		"": fault.PromptEmpty, " \n": fault.PromptEmpty, strings.Repeat("é", 2001): fault.PromptTooLong,
		"?": fault.ParseFailed, "…!? — 🐕": fault.ParseFailed,
		strings.Repeat("é", 2000): "", "7": "", "犬はいますか": "", "Is there a dog?": "",
	} {
		q, mode, err := w.Parse(t.Context(), prompt)
		if want != "" {
			require.True(t, fault.Has(err, want), "%.20q: %v", prompt, err)
			continue
		}
		require.NoError(t, err, fmt.Sprintf("%.20q", prompt))
		require.Equal(t, analysis.ParseHeuristic, mode)
		require.Equal(t, prompt, *q.OriginalPrompt)
	}
}
