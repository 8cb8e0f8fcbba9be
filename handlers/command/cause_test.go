package command

import (
	"crypto/ed25519"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/query"
	"vqa/domain/video"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
)

// TestEveryEventHasItsCause runs every flow of the service and checks the metadata of each event: its
// actor, its request and its cause.
func TestEveryEventHasItsCause(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	everyFlow(t, w)
	seen := map[string]bool{}
	for _, r := range w.history() {
		name, _, _ := strings.Cut(r.Event.EventType(), "@")
		seen[name] = true
		require.NotEmpty(t, r.Meta.Actor, name)
		require.NotEmpty(t, r.Meta.AccountID, name)
		require.NotEmpty(t, r.Meta.CorrelationID, name)
		require.NotEmpty(t, r.Meta.CausationID, name)
		require.True(t, r.Meta.RequestID == "req_1" || id.Valid(id.Request, r.Meta.RequestID), "%s: %q", name, r.Meta.RequestID)
		require.Equal(t, r.Meta.RequestID, r.Meta.CorrelationID, name)
	}
	for _, stored := range codec.Events().Names() {
		name, _, _ := strings.Cut(stored, "@")
		require.True(t, seen[name], "no flow of this test records a %s", name)
	}
}

// everyFlow records at least one event of every type.
func everyFlow(t *testing.T, w *world) {
	t.Helper()
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	testCaller, fixture := w.sandbox()
	_, err := w.CreateAnalysis(ctx, testCaller, ask(fixture))
	ok(err)
	caller := w.account(1000)
	spare, err := w.IssueKey(ctx, NewKey{AccountID: caller.AccountID, Mode: account.Live, Operator: "jo"})
	ok(err)
	ok(w.RevokeKey(ctx, caller.AccountID, spare.KeyID, "jo", ""))
	posted, err := w.GrantCredits(ctx, GrantCredits{CreditChange: CreditChange{AccountID: caller.AccountID}, Kind: credit.Purchase, Seconds: 9})
	ok(err)
	_, err = w.RefundCredits(ctx, RefundCredits{CreditChange: CreditChange{AccountID: caller.AccountID}, TransactionID: posted.TransactionID})
	ok(err)

	videoID := w.readyVideo(caller)
	_, err = w.CreateAnalysis(ctx, caller, CreateAnalysis{VideoID: videoID, Query: &query.Query{QueryType: query.TypeOpenEnded}})
	ok(err)
	// Work without a known cause, and work with one.
	run := w.claimed(caller, videoID)
	ok(w.ReportProgress(ctx, run, analysis.Analyzing, 10))
	run.Attempt, run.Cause = 2, CausedBy(w.history()[0])
	_, _, err = w.ClaimAnalysis(ctx, run, "worker 2")
	ok(err)
	ok(w.CompleteAnalysis(ctx, run, yes(), 9_900_000, 3, nil))
	ok(w.FailAnalysis(ctx, w.claimed(caller, videoID), analysis.Failure{Code: fault.InferenceError}))
	_, err = w.CancelAnalysis(ctx, caller, w.queued(caller, videoID).AnalysisID)
	ok(err)
	down, err := w.OpenIncident(ctx, "The engine is down", "jo")
	ok(err)
	w.Incidents = &fakeIncidents{open: down.ID}
	failed := w.claimed(caller, videoID)
	ok(w.FailAnalysis(ctx, failed, analysis.Failure{Code: fault.InferenceError}))
	rerun, err := w.RerunAnalysis(ctx, caller, failed.AnalysisID)
	ok(err)
	_, err = w.CancelAnalysis(ctx, caller, rerun.ID)
	ok(err)
	_, err = w.CloseIncident(ctx, down.ID, "jo")
	ok(err)
	afterworkFlow(t, w, caller, videoID)
	stuck := w.queued(caller, videoID)
	w.clock.advance(holdLife)
	ok(w.ExpireHold(ctx, caller.AccountID, stuck.AnalysisID))
	ok(w.DeleteVideo(ctx, caller, videoID))
	ok(w.PurgeVideo(ctx, Removal{AccountID: caller.AccountID, VideoID: videoID, Attempt: 1}))

	fetched := func() Fetch {
		v, err := w.CreateVideo(ctx, caller, CreateVideo{URL: ptr("https://example.com/a.mp4")})
		ok(err)
		return Fetch{AccountID: caller.AccountID, VideoID: v.ID, Attempt: 1}
	}
	_, err = w.FinishFetch(ctx, fetched(), video.File{ObjectKey: "k", DurationMicros: micros(1)})
	ok(err)
	ok(w.FailVideo(ctx, fetched(), fault.New(fault.URLFetchFailed, "")))

	claimFlow(t, w, caller)
	keyFlow(t, w, caller)
	webhookFlow(t, w, caller)
	grantFlow(t, w, caller)
	streamFlow(t, w)
	signInFlow(t, w)
	_, err = w.SignIn(ctx, Person{Issuer: "https://id.example", Subject: "jo", Email: "jo@example.com"}, "req_1")
	ok(err)
	_, err = w.MintClientToken(ctx, caller, MintClientToken{Scopes: []string{"analyses:read"}, Life: account.MinClientTokenLife})
	ok(err)

	ok(w.AddLedgerKey(ctx, ledgerKey.Public().(ed25519.PublicKey)))
	_, err = w.SealLog(ctx, credit.LogSealed{Log: 1, Size: 1})
	ok(err)
}

func TestCauseOfLostWorkIsItsFirstEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(100)
	run := w.queued(caller, w.readyVideo(caller))
	w.clock.advance(time.Minute)
	cause, err := w.CauseOf(t.Context(), fold.Analysis.Stream(run.AnalysisID))
	require.NoError(t, err)
	require.Equal(t, "req_1", cause.RequestID)
	require.Equal(t, "req_1", cause.CorrelationID)
	require.Regexp(t, `^position:[0-9]+$`, cause.CausationID)
	none, err := w.CauseOf(t.Context(), fold.Analysis.Stream("an_none"))
	require.NoError(t, err)
	require.Equal(t, Cause{}, none)
}
