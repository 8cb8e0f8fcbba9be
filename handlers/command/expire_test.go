package command

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/credit"
	"vqa/domain/fault"
)

func TestExpiredHoldFailsItsAnalysis(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(30)
	run := w.claimed(caller, w.readyVideo(caller))
	w.clock.advance(holdLife - 1)
	w.requireUnchanged(func() {
		require.NoError(t, w.ExpireHold(t.Context(), caller.AccountID, run.AnalysisID), "a call before the expiry is not an error")
	})
	w.clock.advance(1)
	require.NoError(t, w.ExpireHold(t.Context(), caller.AccountID, run.AnalysisID))

	a := stateOf(w, analyses, run.AnalysisID)
	require.Equal(t, analysis.FailedStatus, a.Status)
	require.Equal(t, fault.StuckTimeout, a.Error.Code)
	require.Equal(t, int64(0), a.Usage.BilledSeconds)
	balance := stateOf(w, credits, caller.AccountID)
	require.Equal(t, int64(30), balance.AvailableSeconds())
	var reasons []credit.ReleaseReason
	for _, r := range w.history() {
		if e, ok := r.Event.(credit.Released); ok {
			reasons = append(reasons, e.Reason)
		}
	}
	require.Equal(t, []credit.ReleaseReason{credit.ByExpiry}, reasons)
	w.requireUnchanged(func() {
		require.NoError(t, w.ExpireHold(t.Context(), caller.AccountID, run.AnalysisID), "once")
		require.True(t, IsStale(w.CompleteAnalysis(t.Context(), run, yes(), 9_400_000, 3, nil)), "the answer comes too late")
	})
	require.NoError(t, w.DeleteVideo(t.Context(), caller, run.VideoID), "the video can be deleted")
	w.requireLaws()
}

func TestExpiredHoldStillSettlesBeforeTheSweep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(30)
	run := w.claimed(caller, w.readyVideo(caller))
	w.clock.advance(2 * holdLife)
	require.NoError(t, w.CompleteAnalysis(t.Context(), run, yes(), 9_400_000, 3, nil))
	require.Equal(t, int64(20), stateOf(w, credits, caller.AccountID).PostedSeconds)
	w.requireUnchanged(func() {
		require.NoError(t, w.ExpireHold(t.Context(), caller.AccountID, run.AnalysisID))
	})
}

// TestHoldWithoutAnAnalysisExpires: a hold expires even when its source is not an analysis.
func TestHoldWithoutAnAnalysisExpires(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(30)
	in := w.operatorIntent(caller.AccountID, "test", "")
	require.NoError(t, w.Pipeline.do(t.Context(), in, func(s *session) error {
		_, err := credits.record(s, caller.AccountID, credit.Hold{
			AccountID: caller.AccountID, HoldID: "txn_1", Seconds: 7, SourceType: credit.SourceStream, SourceID: "st_1", ExpiresAt: s.now,
		})
		return err
	}))
	require.Equal(t, int64(7), stateOf(w, credits, caller.AccountID).HeldSeconds)
	require.NoError(t, w.ExpireHold(t.Context(), caller.AccountID, "st_1"))
	require.Equal(t, int64(0), stateOf(w, credits, caller.AccountID).HeldSeconds)
}
