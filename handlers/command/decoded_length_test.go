package command

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/fault"
)

// TestBillOfALongerVideo: a file whose probed length is one second is billed for its decoded length, at most
// the held and available seconds. Afterwards the video has the decoded length.
func TestBillOfALongerVideo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		balance, decoded, want int64
	}{
		"more than was held":          {100, 59_600_000, 60},
		"at most held plus available": {40, 59_600_000, 40},
		"less than was held":          {100, 400_000, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.intake.file.ClaimedMicros, w.intake.file.DurationMicros = micros(1_000_000), micros(1_000_000)
			caller := w.account(test.balance)
			r := w.claimed(caller, w.readyVideo(caller))
			require.EqualValues(t, 1, stateOf(w, analyses, r.AnalysisID).HeldSeconds)
			require.NoError(t, w.CompleteAnalysis(t.Context(), r, yes(), test.decoded, 3, nil))
			require.Equal(t, test.want, stateOf(w, analyses, r.AnalysisID).Usage.BilledSeconds)
			require.Equal(t, test.balance-test.want, stateOf(w, credits, caller.AccountID).PostedSeconds)
			v := stateOf(w, videos, r.VideoID)
			require.Equal(t, test.decoded, *v.DurationMicros())
			require.EqualValues(t, 1_000_000, *v.File.DurationMicros, "the probed length stays for auditors")
			w.requireLaws()
		})
	}
}

// TestLaterQuestionsUseTheDecodedLength checks the estimate, the hold and the bill of the next analysis, also
// with a discount in a batch.
func TestLaterQuestionsUseTheDecodedLength(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.intake.file.DurationMicros = micros(1_000_000)
	caller := w.account(1000)
	r := w.claimed(caller, w.readyVideo(caller))
	require.NoError(t, w.CompleteAnalysis(t.Context(), r, yes(), 59_600_000, 3, nil))

	batch, err := w.CreateBatch(t.Context(), caller, batchOf(r.VideoID, 2))
	require.NoError(t, err)
	for i, want := range []int64{60, 30} {
		p := batch.Analyses[i]
		require.Equal(t, want, *p.EstimatedSeconds)
		require.Equal(t, want, p.Analysis.HeldSeconds)
		require.InDelta(t, 59.6, *p.DurationS, 1e-9)
		before := len(w.history())
		run := Run{AccountID: caller.AccountID, AnalysisID: p.Analysis.ID, VideoID: r.VideoID, Attempt: 1}
		_, _, err := w.ClaimAnalysis(t.Context(), run, "worker")
		require.NoError(t, err)
		require.NoError(t, w.CompleteAnalysis(t.Context(), run, yes(), 59_600_000, 3, nil))
		require.Equal(t, want, stateOf(w, analyses, run.AnalysisID).Usage.BilledSeconds)
		require.NotContains(t, types(w.history()[before:]), "video.measured", "the length is already known")
	}

	poor := w.account(30)
	r = w.claimed(poor, w.readyVideo(poor))
	require.NoError(t, w.CompleteAnalysis(t.Context(), r, yes(), 59_600_000, 3, nil))
	_, err = w.CreateAnalysis(t.Context(), poor, CreateAnalysis{VideoID: r.VideoID, Prompt: ptr("Is there a dog?")})
	requireFault(t, err, fault.InsufficientCredits)
	w.requireLaws()
}

// TestVideoThatDecodingFindsTooLong: the analysis fails without a bill, and later analyses of the video are
// refused.
func TestVideoThatDecodingFindsTooLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.intake.file.DurationMicros = micros(1_000_000)
	caller := w.account(100)
	r := w.claimed(caller, w.readyVideo(caller))
	before := len(w.history())
	require.NoError(t, w.FailTooLong(t.Context(), r, (4*time.Hour+time.Second).Microseconds()))
	require.Equal(t, []string{"analysis.failed", "credit.released", "video.analysis_closed", "video.measured"}, types(w.history()[before:]))
	a := stateOf(w, analyses, r.AnalysisID)
	require.Equal(t, &analysis.Failure{Code: fault.VideoTooLong, Message: "The video is longer than the 4h0m0s that the plan allows."}, a.Error)
	require.Equal(t, &analysis.Usage{BalanceAfter: ptr(int64(100))}, a.Usage)
	require.EqualValues(t, 100, stateOf(w, credits, caller.AccountID).AvailableSeconds())

	w.requireUnchanged(func() {
		for _, preview := range []bool{true, false} {
			_, err := w.CreateAnalysis(t.Context(), caller, CreateAnalysis{
				VideoID: r.VideoID, Prompt: ptr("Is there a dog?"), ValidateOnly: preview,
			})
			requireFault(t, err, fault.VideoTooLong)
		}
	})
	w.requireLaws()
}
