package jobs_test

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/query"
	"vqa/domain/video"
	gpufixture "vqa/gpu/fixture"
	"vqa/handlers/command"
	"vqa/handlers/intake/forged"
	"vqa/handlers/objects"
)

func (w *world) readyFile(t *testing.T, data []byte) video.State {
	t.Helper()
	return w.readyVideo(t, func() ([]byte, error) { return data, nil })
}

// TestBillsOfForgedFiles asks two questions about each file that has a wrong length in its
// header. The length of the video, the hold, the bill and the ledger all follow the decoded
// length. The second question is answered from the stored survey.
func TestBillsOfForgedFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	engine := &gpufixture.Engine{Detections: seen}
	z := w.analyzer(engine)
	files, err := forged.Corpus(t.Context())
	require.NoError(t, err)
	billed := int64(0)
	for _, file := range files {
		v := w.readyFile(t, file.Data)
		want := int64(math.Ceil(file.LengthS))
		picture := file.LengthS / 30
		for range 2 {
			run := w.ask(t, w.video(t, v.ID))
			require.Equal(t, want, w.analysis(t, run).HeldSeconds, file.Name)
			require.NoError(t, z.Run(t.Context(), run), file.Name)
			a := w.analysis(t, run)
			require.Equal(t, analysis.CompletedStatus, a.Status, "%s: %v", file.Name, a.Error)
			require.Equal(t, want, a.Usage.BilledSeconds, file.Name)
			billed += want
			w.requireBilled(t, billed)

			length := a.Result.Receipt.Duration
			require.InDelta(t, file.LengthS, float64(length.DecodedMicros)/1e6, picture, file.Name)
			require.Equal(t, length.DecodedMicros, *length.ComputedMicros, file.Name)
			if file.ClaimedMicros == 0 {
				require.Nil(t, length.ClaimedMicros, file.Name)
			} else {
				require.Equal(t, file.ClaimedMicros, *length.ClaimedMicros, file.Name)
			}
			require.InDelta(t, file.LengthS, *w.video(t, v.ID).DurationS(), picture, file.Name)
		}
	}
}

// TestMovieHeaderOfOneSecond is an attack that had a minute of video analyzed for the price
// of a second: the file declared a duration of 1000.
func TestMovieHeaderOfOneSecond(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	clip, err := forged.Render(t.Context(), forged.Test(59.6))
	require.NoError(t, err)
	v := w.readyFile(t, forged.Durations(clip, 1000, "mvhd"))
	require.InDelta(t, 59.6, *v.DurationS(), 1e-9)
	run := w.ask(t, v)
	require.NoError(t, w.analyzer(&gpufixture.Engine{Detections: seen}).Run(t.Context(), run))
	a := w.analysis(t, run)
	require.EqualValues(t, 60, a.HeldSeconds)
	require.EqualValues(t, 60, a.Usage.BilledSeconds)
	w.requireBilled(t, 60)
}

// TestForgedFilesAreTooLong: no header brings a file of 70 s past the plan limit of 60 s.
func TestForgedFilesAreTooLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	clip, err := forged.Render(t.Context(), forged.Test(70))
	require.NoError(t, err)
	for name, data := range map[string][]byte{
		"honest": clip, "a second": forged.Durations(clip, 1000, "mvhd"), "none": forged.Durations(clip, 0, forged.Headers...),
	} {
		v, err := w.CreateVideo(t.Context(), w.caller, command.CreateVideo{ContentType: "video/mp4"})
		require.NoError(t, err)
		w.put(t, objects.UploadKey(v.ID), data)
		_, err = w.CompleteVideo(t.Context(), w.caller, v.ID)
		require.True(t, fault.Has(err, fault.VideoTooLong), "%s: %v", name, err)
	}
}

// regrow replaces the stored bytes of a video by a longer clip. The computed length is
// wrong afterwards, as with a file that misleads the probe.
func (w *world) regrow(t *testing.T, v video.State, seconds float64) {
	t.Helper()
	clip, err := forged.Render(t.Context(), forged.Test(seconds))
	require.NoError(t, err)
	w.put(t, v.File.ObjectKey, clip)
}

// TestScanStopsAtThePlanLimit: more is decoded than was computed, up to the limit of 60 s.
func TestScanStopsAtThePlanLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := w.readyVideo(t, shortClip)
	first, second := w.ask(t, v), w.ask(t, v)
	w.regrow(t, v, 100)
	engine := &gpufixture.Engine{Detections: seen}
	z := w.analyzer(engine)
	require.NoError(t, z.Run(t.Context(), first))
	a := w.analysis(t, first)
	require.Equal(t, analysis.FailedStatus, a.Status)
	require.Equal(t, &analysis.Failure{Code: fault.VideoTooLong, Message: "The video is longer than the 1m0s that the plan allows."}, a.Error)
	require.Zero(t, a.Usage.BilledSeconds)
	pictures := 0
	for _, call := range engine.Calls() {
		pictures += len(call.Frames)
	}
	require.Less(t, pictures, 150, "of 200 in the file")

	looked := len(engine.Calls())
	require.NoError(t, z.Run(t.Context(), second))
	require.Equal(t, fault.VideoTooLong, w.analysis(t, second).Error.Code)
	require.Len(t, engine.Calls(), looked, "the known length of the video is enough")
	w.requireBilled(t, 0)
	require.Greater(t, *w.video(t, v.ID).DurationS(), 60.0)
	_, err := w.CreateAnalysis(t.Context(), w.caller, command.CreateAnalysis{VideoID: v.ID, Prompt: new("Is there a stop sign?")})
	require.True(t, fault.Has(err, fault.VideoTooLong), "%v", err)
}

// TestMoreIsDecodedThanComputed: the decoded length is billed, for the first question and
// for one that is answered from the stored survey. The video gets that length.
func TestMoreIsDecodedThanComputed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := w.readyVideo(t, shortClip)
	first, second := w.ask(t, v), w.ask(t, v)
	w.regrow(t, v, 20.3)
	z := w.analyzer(&gpufixture.Engine{Detections: seen})
	for _, run := range []command.Run{first, second} {
		require.NoError(t, z.Run(t.Context(), run))
		a := w.analysis(t, run)
		require.EqualValues(t, shortS, a.HeldSeconds)
		require.EqualValues(t, 21, a.Usage.BilledSeconds)
		require.EqualValues(t, shortS*1_000_000, *a.Result.Receipt.Duration.ComputedMicros)
		require.EqualValues(t, 20_500_000, a.Result.Receipt.Duration.DecodedMicros, "the last frame was shown at 20 s")
		require.InDelta(t, 20.5, *a.Result.VideoDurationS, 1e-9)
	}
	w.requireBilled(t, 42)
	v = w.video(t, v.ID)
	require.InDelta(t, 20.5, *v.DurationS(), 1e-9)
	third := w.ask(t, v)
	require.EqualValues(t, 21, w.analysis(t, third).HeldSeconds)
	require.NoError(t, z.Run(t.Context(), third))
	require.EqualValues(t, 21, w.analysis(t, third).Usage.BilledSeconds)
}

// TestLessIsDecodedThanComputed: only the decoded length is billed.
func TestLessIsDecodedThanComputed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := w.readyVideo(t, longClip)
	run := w.ask(t, v)
	w.regrow(t, v, 4)
	require.NoError(t, w.analyzer(&gpufixture.Engine{Detections: seen}).Run(t.Context(), run))
	require.EqualValues(t, 4, w.analysis(t, run).Usage.BilledSeconds)
	w.requireBilled(t, 4)
	require.InDelta(t, 4, *w.video(t, v.ID).DurationS(), 1e-9)
}

// TestMoreIsDecodedThanIsPaidFor: the bill is at most the hold plus the available balance.
// Nothing is left for the next question then.
func TestMoreIsDecodedThanIsPaidFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key, err := w.IssueKey(t.Context(), command.NewKey{Mode: account.Live, Tier: account.Paid, GrantSeconds: 10, Operator: "test"})
	require.NoError(t, err)
	w.caller = command.Caller{AccountID: key.AccountID, KeyID: key.KeyID, Livemode: true, Tier: account.Paid}
	v := w.readyVideo(t, shortClip)
	run := w.ask(t, v)
	w.regrow(t, v, 20)
	require.NoError(t, w.analyzer(&gpufixture.Engine{Detections: seen}).Run(t.Context(), run))
	a := w.analysis(t, run)
	require.Equal(t, analysis.CompletedStatus, a.Status)
	require.EqualValues(t, 10, a.Usage.BilledSeconds)
	require.EqualValues(t, 0, *a.Usage.BalanceAfter)
	require.EqualValues(t, 20*time.Second/time.Microsecond, a.Result.Receipt.Duration.DecodedMicros)
	_, err = w.CreateAnalysis(t.Context(), w.caller, command.CreateAnalysis{VideoID: v.ID, Prompt: new("Is there a stop sign?")})
	require.True(t, fault.Has(err, fault.InsufficientCredits), "%v", err)
	require.EqualValues(t, 20, fault.Of(err).Details["needed_seconds"])
}

// TestQuestionsAboutTimesThatAreNotThere: frames after the middle of this file cannot be decoded. A question about its end
// was planned with a wrong length. The next one is planned with the decoded length, and answered.
func TestQuestionsAboutTimesThatAreNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	z := w.analyzer(&gpufixture.Engine{Detections: seen})
	data, err := forged.Render(t.Context(), forged.Test(20))
	require.NoError(t, err)
	index := bytes.Index(data, []byte("moov"))
	require.Greater(t, index, len(data)/2, "the index is at the end of the file")
	clear(data[len(data)/2 : index-4])
	v := w.readyFile(t, data)
	require.InDelta(t, 20, *v.DurationS(), 0.1)
	result := func(prompt string) *answer.Result {
		run := w.askFor(t, w.video(t, v.ID), prompt)
		require.NoError(t, z.Run(t.Context(), run))
		a := w.analysis(t, run)
		require.Equal(t, analysis.CompletedStatus, a.Status, "%v", a.Error)
		return a.Result
	}
	mismatch := func(prompt string) {
		r := result(prompt)
		require.Equal(t, answer.Indeterminate, r.Answer, prompt)
		require.Equal(t, query.DurationMismatch, *r.IndeterminateReason, prompt)
	}
	mismatch("Is there a stop sign at the end?")
	require.Less(t, *w.video(t, v.ID).DurationS(), 15.0)
	require.Equal(t, answer.Yes, result("Is there a stop sign at the end?").Answer)
	mismatch("Is there a stop sign after 19 seconds?")
}
