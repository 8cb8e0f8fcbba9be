package command

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/fault"
)

var lost = analysis.Failure{Code: fault.StuckTimeout, Message: "the job was lost"}

func TestRunOfAnAnalysis(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(25)
	videoID := w.readyVideo(caller)
	r := w.queued(caller, videoID)
	r.Cause = Cause{RequestID: "req_1", CorrelationID: "req_1", CausationID: "17"}

	a, v, err := w.ClaimAnalysis(t.Context(), r, "worker")
	require.NoError(t, err)
	require.Equal(t, analysis.Preparing, a.Status)
	require.Equal(t, videoID, v.ID)
	require.NoError(t, w.ReportProgress(t.Context(), r, analysis.Analyzing, 30))
	require.NoError(t, w.ReportProgress(t.Context(), r, analysis.Analyzing, 40))
	require.Equal(t, 30, stateOf(w, analyses, r.AnalysisID).Percent)
	before := len(w.history())
	require.NoError(t, w.CompleteAnalysis(t.Context(), r, yes(), 9_400_000, 19, nil))

	recorded := w.history()[before:]
	require.Equal(t, []string{"analysis.completed", "credit.settled", "video.analysis_closed"}, types(recorded))
	for _, e := range recorded {
		require.Equal(t, "system:worker", e.Meta.Actor)
		require.Equal(t, "req_1", e.Meta.CorrelationID)
		require.Equal(t, "17", e.Meta.CausationID)
	}
	a = stateOf(w, analyses, r.AnalysisID)
	require.Equal(t, analysis.CompletedStatus, a.Status)
	require.Equal(t, ptr(yes()), a.Result)
	require.Equal(t, &analysis.Usage{BilledSeconds: 10, BalanceAfter: ptr(int64(15)), Frames: ptr(19)}, a.Usage)
	balance := stateOf(w, credits, caller.AccountID)
	require.Equal(t, int64(15), balance.AvailableSeconds())
	require.Empty(t, balance.Holds)
	require.NoError(t, w.DeleteVideo(t.Context(), caller, videoID))
}

func TestBillOfAnUnknownDuration(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		balance int64
		decoded int64
		want    int64
	}{
		"what was decoded, rounded up":               {100, 12_100_000, 13},
		"whole seconds":                              {100, 12_000_000, 12},
		"more than was held":                         {100, 75_500_000, 76},
		"at most the hold when the balance is empty": {60, 75_500_000, 60},
		"at most held plus available":                {70, 75_500_000, 70},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.intake.file.DurationMicros = nil
			caller := w.account(test.balance)
			r := w.claimed(caller, w.readyVideo(caller))
			require.NoError(t, w.CompleteAnalysis(t.Context(), r, yes(), test.decoded, 3, nil))
			usage := stateOf(w, analyses, r.AnalysisID).Usage
			require.Equal(t, test.want, usage.BilledSeconds)
			require.Equal(t, test.balance-test.want, *usage.BalanceAfter)
			require.Equal(t, test.balance-test.want, stateOf(w, credits, caller.AccountID).AvailableSeconds())
		})
	}
}

func TestFailedAnalysisIsNotBilled(t *testing.T) {
	t.Parallel()
	for name, attempt := range map[string]int{"by its worker": 1, "as lost": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			caller := w.account(25)
			videoID := w.readyVideo(caller)
			r := w.claimed(caller, videoID)
			r.Attempt = attempt
			require.NoError(t, w.FailAnalysis(t.Context(), r, lost))
			a := stateOf(w, analyses, r.AnalysisID)
			require.Equal(t, analysis.FailedStatus, a.Status)
			require.Equal(t, &lost, a.Error)
			require.Equal(t, &analysis.Usage{BalanceAfter: ptr(int64(25))}, a.Usage)
			require.Equal(t, int64(25), stateOf(w, credits, caller.AccountID).AvailableSeconds())
			require.NoError(t, w.DeleteVideo(t.Context(), caller, videoID))
		})
	}
}

func TestCancelAnalysis(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller, other := w.account(30), w.account(30)
	test, _ := w.sandbox()
	videoID := w.readyVideo(caller)
	waiting, running := w.queued(caller, videoID), w.claimed(caller, videoID)

	w.requireUnchanged(func() {
		_, err := w.CancelAnalysis(t.Context(), other, waiting.AnalysisID)
		requireFault(t, err, fault.ResourceNotFound)
		_, err = w.CancelAnalysis(t.Context(), test, waiting.AnalysisID)
		requireFault(t, err, fault.ResourceNotFound)
		_, err = w.CancelAnalysis(t.Context(), Caller{AccountID: caller.AccountID}, waiting.AnalysisID)
		requireFault(t, err, fault.ResourceNotFound) // a test key of the same account
		_, err = w.CancelAnalysis(t.Context(), caller, "an_01JNQ3ZC8A0123456789ABCDEF")
		requireFault(t, err, fault.ResourceNotFound)
	})
	for _, r := range []Run{waiting, running} {
		a, err := w.CancelAnalysis(t.Context(), caller, r.AnalysisID)
		require.NoError(t, err)
		require.Equal(t, analysis.CanceledStatus, a.Status)
		require.Equal(t, int64(0), a.Usage.BilledSeconds)
		w.requireUnchanged(func() {
			_, err := w.CancelAnalysis(t.Context(), caller, r.AnalysisID)
			requireFault(t, err, fault.AnalysisNotCancelable)
			err = w.CompleteAnalysis(t.Context(), r, yes(), 9_400_000, 1, nil)
			require.True(t, IsStale(err), "%v", err)
			require.ErrorContains(t, err, "already canceled", "the analysis refuses, not the ledger")
			err = w.FailAnalysis(t.Context(), Run{AccountID: r.AccountID, AnalysisID: r.AnalysisID, VideoID: r.VideoID}, lost)
			require.True(t, IsStale(err), "%v", err)
			err = w.ReportProgress(t.Context(), r, analysis.Rendering, 99)
			require.True(t, IsStale(err), "%v", err)
			_, _, err = w.ClaimAnalysis(t.Context(), Run{AccountID: r.AccountID, AnalysisID: r.AnalysisID, VideoID: r.VideoID, Attempt: 9}, "w")
			require.True(t, IsStale(err), "%v", err)
		})
	}
	require.Equal(t, int64(30), stateOf(w, credits, caller.AccountID).AvailableSeconds())
	require.NoError(t, w.DeleteVideo(t.Context(), caller, videoID))
}

func TestStaleAttempts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(30)
	first := w.claimed(caller, w.readyVideo(caller))
	second := first
	second.Attempt = 2
	_, _, err := w.ClaimAnalysis(t.Context(), second, "worker-2")
	require.NoError(t, err)
	w.requireUnchanged(func() {
		_, _, err := w.ClaimAnalysis(t.Context(), first, "worker-1")
		require.True(t, IsStale(err), "%v", err)
		err = w.ReportProgress(t.Context(), first, analysis.Rendering, 99)
		require.True(t, IsStale(err), "%v", err)
		err = w.CompleteAnalysis(t.Context(), first, yes(), 9_400_000, 1, nil)
		require.True(t, IsStale(err), "%v", err)
		err = w.FailAnalysis(t.Context(), first, lost)
		require.True(t, IsStale(err), "%v", err)
	})
	require.Equal(t, int64(20), stateOf(w, credits, caller.AccountID).AvailableSeconds(), "a stale report moves no credits")
	require.NoError(t, w.CompleteAnalysis(t.Context(), second, yes(), 9_400_000, 1, nil))
	require.Equal(t, int64(20), stateOf(w, credits, caller.AccountID).PostedSeconds)
}

func TestRunOfNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(30)
	r := Run{AccountID: caller.AccountID, AnalysisID: "an_01JNQ3ZC8A0123456789ABCDEF", VideoID: w.readyVideo(caller), Attempt: 1}
	w.requireUnchanged(func() {
		_, _, err := w.ClaimAnalysis(t.Context(), r, "w")
		requireFault(t, err, fault.ResourceNotFound)
		requireFault(t, w.ReportProgress(t.Context(), r, analysis.Preparing, 1), fault.ResourceNotFound)
		require.True(t, IsStale(w.CompleteAnalysis(t.Context(), r, yes(), 9_400_000, 1, nil)))
		require.True(t, IsStale(w.FailAnalysis(t.Context(), r, lost)))
	})
}

func TestIsStale(t *testing.T) {
	t.Parallel()
	for _, code := range []fault.Code{fault.ResourceConflict, fault.ResourceNotFound} {
		require.True(t, IsStale(fault.New(code, "")))
	}
	for _, code := range []fault.Code{fault.DBUnavailable, fault.InsufficientCredits, fault.AnalysisNotCancelable} {
		require.False(t, IsStale(fault.New(code, "")))
	}
	require.False(t, IsStale(nil))
	require.False(t, IsStale(t.Context().Err()))
}
