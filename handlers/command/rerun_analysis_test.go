package command

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/id"
)

// fakeIncidents has one open incident or none.
type fakeIncidents struct {
	open string
	err  error
}

func (p *fakeIncidents) OpenIncident(context.Context) (string, error) { return p.open, p.err }

func withIncidents(p *fakeIncidents) option { return func(d *Dependencies) { d.Incidents = p } }

// failedInIncident creates an analysis that fails in an incident.
func (w *world) failedInIncident(p *fakeIncidents, caller Caller, c CreateAnalysis) string {
	w.t.Helper()
	p.open = "inc_1"
	plan, err := w.CreateAnalysis(w.t.Context(), caller, c)
	require.NoError(w.t, err)
	r := Run{AccountID: caller.AccountID, AnalysisID: plan.Analysis.ID, VideoID: c.VideoID, Attempt: 1}
	_, _, err = w.ClaimAnalysis(w.t.Context(), r, "worker")
	require.NoError(w.t, err)
	require.NoError(w.t, w.FailAnalysis(w.t.Context(), r, analysis.Failure{Code: fault.InferenceError, Message: "m"}))
	p.open = ""
	return r.AnalysisID
}

func TestRerunIsFreeAndKeepsTheRequest(t *testing.T) {
	t.Parallel()
	p := &fakeIncidents{}
	w := newWorld(t, withIncidents(p))
	caller := w.account(10)
	c := ask(w.readyVideo(caller))
	c.Narrative, c.Metadata, c.Webhook = true, map[string]string{"a": "b"}, &analysis.Webhook{URL: "https://example.com/hook"}
	originalID := w.failedInIncident(p, caller, c)
	original := stateOf(w, analyses, originalID)
	require.True(t, original.RerunEligible())
	// The account has no credits left. A re-run needs none.
	_, err := w.GrantCredits(t.Context(), GrantCredits{CreditChange: CreditChange{AccountID: caller.AccountID}, Kind: credit.Adjustment, Seconds: -10})
	require.NoError(t, err)

	keyed := caller.keyed("k", "body")
	a, err := w.RerunAnalysis(t.Context(), keyed, originalID)
	require.NoError(t, err)
	receipt, err := w.Replay(t.Context(), keyed)
	require.NoError(t, err)
	require.Equal(t, a.ID, receipt.ResourceID)
	require.Equal(t, analysis.Queued, a.Status)
	require.Equal(t, originalID, a.RerunOf)
	require.Zero(t, a.HeldSeconds)
	want := original
	want.ID, want.RerunOf, want.HeldSeconds, want.Status, want.Attempt, want.Worker = a.ID, originalID, 0, analysis.Queued, 0, ""
	want.Error, want.Usage, want.IncidentID, want.StartedAt, want.CompletedAt, want.CreatedAt = nil, nil, "", nil, nil, a.CreatedAt
	require.Equal(t, want, a, "the same prompt about the same video")

	after := stateOf(w, analyses, originalID)
	require.Equal(t, a.ID, after.RerunID)
	after.RerunID = ""
	require.Equal(t, original, after, "the original is unchanged")
	w.requireUnchanged(func() {
		_, err = w.RerunAnalysis(t.Context(), caller, originalID)
		requireFault(t, err, fault.RerunNotEligible)
	})

	run := Run{AccountID: caller.AccountID, AnalysisID: a.ID, VideoID: a.VideoID, Attempt: 1}
	_, _, err = w.ClaimAnalysis(t.Context(), run, "worker")
	require.NoError(t, err)
	require.NoError(t, w.CompleteAnalysis(t.Context(), run, yes(), 9_400_000, 3, nil))
	done := stateOf(w, analyses, a.ID)
	require.Equal(t, analysis.CompletedStatus, done.Status)
	require.Nil(t, done.Usage)
	for _, r := range w.history() {
		if e, ok := r.Event.(credit.Settled); ok {
			t.Fatalf("%s was debited", e.SourceID)
		}
	}
	require.NoError(t, w.DeleteVideo(t.Context(), caller, a.VideoID), "the video can be deleted")
	w.requireLaws()
}

// TestRerunEndsWithoutUsage: a failed, canceled or expired re-run is not billed. A re-run that fails in an
// incident may be run again too.
func TestRerunEndsWithoutUsage(t *testing.T) {
	t.Parallel()
	p := &fakeIncidents{}
	w := newWorld(t, withIncidents(p))
	caller := w.account(1000)
	videoID := w.readyVideo(caller)
	rerun := func(originalID string) Run {
		a, err := w.RerunAnalysis(t.Context(), caller, originalID)
		require.NoError(t, err)
		return Run{AccountID: caller.AccountID, AnalysisID: a.ID, VideoID: videoID}
	}
	p.open = "inc_2"
	failed := rerun(w.failedInIncident(p, caller, ask(videoID)))
	p.open = "inc_2"
	require.NoError(t, w.FailAnalysis(t.Context(), failed, analysis.Failure{Code: fault.StuckTimeout}))
	p.open = ""
	again := rerun(failed.AnalysisID)
	_, err := w.CancelAnalysis(t.Context(), caller, again.AnalysisID)
	require.NoError(t, err)
	expired := rerun(w.failedInIncident(p, caller, ask(videoID)))
	w.clock.advance(holdLife)
	require.NoError(t, w.ExpireHold(t.Context(), caller.AccountID, expired.AnalysisID))
	for _, r := range []Run{failed, again, expired} {
		a := stateOf(w, analyses, r.AnalysisID)
		require.True(t, a.Status.Terminal())
		require.Nil(t, a.Usage, a.Status)
	}
	require.Equal(t, int64(1000), stateOf(w, credits, caller.AccountID).AvailableSeconds())
	w.requireLaws()
}

func TestRerunRefusals(t *testing.T) {
	t.Parallel()
	p := &fakeIncidents{}
	w := newWorld(t, withIncidents(p), withLimits(func(l *Limits) { l.MaxConcurrentAnalyses = 1; l.AnalysisQueueCap = 7 }))
	caller, other := w.account(1000), w.account(1000)
	videoID, doomed := w.readyVideo(caller), w.readyVideo(caller)
	eligible, orphan := w.failedInIncident(p, caller, ask(videoID)), w.failedInIncident(p, caller, ask(doomed))
	require.NoError(t, w.DeleteVideo(t.Context(), caller, doomed))
	byItself := w.claimed(caller, videoID)
	require.NoError(t, w.FailAnalysis(t.Context(), byItself, analysis.Failure{Code: fault.InferenceError}))
	p.open = "inc_1"
	unreadable := w.claimed(caller, videoID)
	require.NoError(t, w.FailAnalysis(t.Context(), unreadable, analysis.Failure{Code: fault.VideoUnreadable}))
	p.open = ""
	running := w.queued(caller, videoID)

	for name, tt := range map[string]struct {
		caller Caller
		id     string
		want   fault.Code
	}{
		"nothing":                           {caller, w.IDs.New(id.Analysis), fault.ResourceNotFound},
		"another account's":                 {other, eligible, fault.ResourceNotFound},
		"the test side of the same account": {Caller{AccountID: caller.AccountID}, eligible, fault.ResourceNotFound},
		"a failure of its own":              {caller, byItself.AnalysisID, fault.RerunNotEligible},
		"a bad video in an incident":        {caller, unreadable.AnalysisID, fault.RerunNotEligible},
		"one that runs":                     {caller, running.AnalysisID, fault.RerunNotEligible},
		"one whose video is gone":           {caller, orphan, fault.ResourceConflict},
		"one too many at once":              {caller, eligible, fault.ConcurrencyLimitExceeded},
	} {
		w.requireUnchanged(func() {
			_, err := w.RerunAnalysis(t.Context(), tt.caller, tt.id)
			require.True(t, fault.Has(err, tt.want), "%s: want %s, got %v", name, tt.want, err)
		})
	}
	_, err := w.CancelAnalysis(t.Context(), caller, running.AnalysisID)
	require.NoError(t, err)
	w.requireUnchanged(func() {
		w.capacity.queued = 7
		_, err = w.RerunAnalysis(t.Context(), caller, eligible)
		requireFault(t, err, fault.CapacityExhausted)
		w.capacity.down = fault.New(fault.InferenceUnavailable, "")
		_, err = w.RerunAnalysis(t.Context(), caller, eligible)
		requireFault(t, err, fault.InferenceUnavailable)
		_, err = w.RerunAnalysis(t.Context(), caller, byItself.AnalysisID)
		requireFault(t, err, fault.RerunNotEligible)
	})
	w.capacity.queued, w.capacity.down = 0, nil
	a, err := w.RerunAnalysis(t.Context(), caller, eligible)
	require.NoError(t, err, "a refused request does not use up the re-run")
	_, err = w.CreateAnalysis(t.Context(), caller, ask(videoID))
	requireFault(t, err, fault.ConcurrencyLimitExceeded)
	require.Equal(t, a.ID, stateOf(w, analyses, eligible).RerunID)
}

// TestRerunOnce: of many simultaneous requests, one gets the re-run.
func TestRerunOnce(t *testing.T) {
	t.Parallel()
	p := &fakeIncidents{}
	w := newWorld(t, withIncidents(p))
	caller := w.account(1000)
	originalID := w.failedInIncident(p, caller, ask(w.readyVideo(caller)))
	errs := together(8, func(int) error {
		_, err := w.RerunAnalysis(t.Context(), caller, originalID)
		return err
	})
	require.Equal(t, map[string]int{"ok": 1, string(fault.RerunNotEligible): 7}, tally(errs))
	w.requireLaws()
}

func TestFailureAsksForIncidentsFirst(t *testing.T) {
	t.Parallel()
	p := &fakeIncidents{}
	w := newWorld(t, withIncidents(p))
	caller := w.account(1000)
	run := w.claimed(caller, w.readyVideo(caller))
	p.err = errors.New("the database does not respond")
	w.requireUnchanged(func() {
		require.ErrorIs(t, w.FailAnalysis(t.Context(), run, analysis.Failure{Code: fault.InferenceError}), p.err)
		w.clock.advance(holdLife)
		require.ErrorIs(t, w.ExpireHold(t.Context(), caller.AccountID, run.AnalysisID), p.err)
	})
	p.err, p.open = nil, "inc_1"
	require.NoError(t, w.ExpireHold(t.Context(), caller.AccountID, run.AnalysisID))
	require.True(t, stateOf(w, analyses, run.AnalysisID).RerunEligible(), "a job that was lost in an incident")
}

func TestIncidents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	opened, err := w.OpenIncident(t.Context(), "The engine is down", "jo")
	require.NoError(t, err)
	require.True(t, id.Valid(id.Incident, opened.ID) && opened.Open())
	require.Equal(t, "operator:jo", w.history()[0].Meta.Actor)
	w.clock.advance(time.Hour)
	closed, err := w.CloseIncident(t.Context(), opened.ID, "jo")
	require.NoError(t, err)
	require.Equal(t, opened.OpenedAt.Add(time.Hour), *closed.ClosedAt)
	w.requireUnchanged(func() {
		again, err := w.CloseIncident(t.Context(), opened.ID, "jo")
		require.NoError(t, err)
		require.Equal(t, closed, again)
		_, err = w.CloseIncident(t.Context(), w.IDs.New(id.Incident), "jo")
		requireFault(t, err, fault.ResourceNotFound)
		_, err = w.OpenIncident(t.Context(), "", "jo")
		requireFault(t, err, fault.ValidationFailed)
	})
}
