package jobs_test

import (
	"bytes"
	"context"
	"errors"
	"image/jpeg"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/gpu"
	gpufixture "vqa/gpu/fixture"
	"vqa/handlers/command"
	"vqa/handlers/intake/ffmpeg"
	"vqa/handlers/jobs"
)

func TestAnalysisCompletes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.ask(t, w.readyVideo(t, shortClip))
	engine := &gpufixture.Engine{Detections: seen}
	require.NoError(t, w.analyzer(engine).Run(t.Context(), run))

	a := w.analysis(t, run)
	require.Equal(t, analysis.CompletedStatus, a.Status)
	require.Equal(t, answer.Yes, a.Result.Answer)
	require.EqualValues(t, shortS, a.Usage.BilledSeconds)
	require.Equal(t, shortS*framesPerS, *a.Usage.Frames)
	w.requireBilled(t, shortS)

	frames := 0
	for _, call := range engine.Calls() {
		require.Contains(t, call.Terms, "stop sign")
		require.LessOrEqual(t, len(call.Frames), framesPerBatch)
		for _, frame := range call.Frames {
			picture, err := jpeg.DecodeConfig(bytes.NewReader(frame))
			require.NoError(t, err)
			require.Equal(t, gpufixture.Width, picture.Width)
			frames++
		}
	}
	require.Equal(t, shortS*framesPerS, frames)
}

func TestEngineComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.ask(t, w.readyVideo(t, shortClip))
	engine := &gpufixture.Engine{Detections: seen, Fail: func(call int) error {
		if call < 4 {
			return &gpu.UnavailableError{Err: errors.New("away")}
		}
		return nil
	}}
	require.NoError(t, w.analyzer(engine).Run(t.Context(), run))
	require.Equal(t, analysis.CompletedStatus, w.analysis(t, run).Status)
	require.Greater(t, len(engine.Calls()), 4)
	w.requireBilled(t, shortS)
}

// lostFor is a store that cannot be reached at its first call.
type lostFor struct {
	jobs.Sources
	asked int
}

func (l *lostFor) Source(ctx context.Context, key string) (ffmpeg.Source, error) {
	l.asked++
	if l.asked == 1 {
		return ffmpeg.Source{}, errors.New("no route to the store")
	}
	return l.Sources.Source(ctx, key)
}

func TestTemporaryFailureIsLeftToTheNextAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.ask(t, w.readyVideo(t, shortClip))
	z := w.analyzer(&gpufixture.Engine{Detections: seen})
	var logged bytes.Buffer
	z.Sources, z.Log = &lostFor{Sources: z.Sources}, slog.New(slog.NewTextHandler(&logged, nil))
	require.ErrorContains(t, z.Run(t.Context(), run), "no route to the store")
	require.Contains(t, logged.String(), "no route to the store")
	require.Equal(t, analysis.Preparing, w.analysis(t, run).Status, "the video has not failed")
	run.Attempt = 2
	require.NoError(t, z.Run(t.Context(), run))
	require.Equal(t, analysis.CompletedStatus, w.analysis(t, run).Status)
	w.requireBilled(t, shortS)
}

func TestEngineFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.ask(t, w.readyVideo(t, shortClip))
	engine := &gpufixture.Engine{Fail: func(int) error { return &gpu.InferenceError{Err: errors.New("secret detail")} }}
	require.NoError(t, w.analyzer(engine).Run(t.Context(), run))
	a := w.analysis(t, run)
	require.Equal(t, analysis.FailedStatus, a.Status)
	require.Equal(t, fault.InferenceError, a.Error.Code)
	require.NotContains(t, a.Error.Message, "secret")
	require.Zero(t, a.Usage.BilledSeconds)
	w.requireBilled(t, 0)
	require.NoError(t, w.DeleteVideo(t.Context(), w.caller, run.VideoID))
}

func TestUndecodableVideo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := w.readyVideo(t, shortClip)
	run := w.ask(t, v)
	w.put(t, v.File.ObjectKey, []byte("the disk lost it"))
	require.NoError(t, w.analyzer(&gpufixture.Engine{}).Run(t.Context(), run))
	a := w.analysis(t, run)
	require.Equal(t, analysis.FailedStatus, a.Status)
	require.Equal(t, fault.InferenceError, a.Error.Code)
	require.Equal(t, "The video could not be decoded.", a.Error.Message)
	w.requireBilled(t, 0)
}

// TestCancelStopsTheWork cancels while the engine works. The attempt ends by itself long
// before the end of the video.
func TestCancelStopsTheWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.ask(t, w.readyVideo(t, longClip))
	began := make(chan struct{})
	var once sync.Once
	engine := &gpufixture.Engine{Detections: seen, Latency: 700 * time.Millisecond, Fail: func(int) error {
		once.Do(func() { close(began) })
		return nil
	}}
	ended := make(chan error, 1)
	go func() { ended <- w.analyzer(engine).Run(t.Context(), run) }()
	await(t, began)
	_, err := w.CancelAnalysis(t.Context(), w.caller, run.AnalysisID)
	require.NoError(t, err)
	require.NoError(t, await(t, ended))
	require.Equal(t, analysis.CanceledStatus, w.analysis(t, run).Status)
	require.Less(t, len(engine.Calls()), longS*framesPerS/framesPerBatch, "the rest of the video was not examined")
	w.requireBilled(t, 0)
}

func await[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		require.Fail(t, "nothing happened")
		panic("unreachable")
	}
}

func TestStaleAttemptDoesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.ask(t, w.readyVideo(t, shortClip))
	second := run
	second.Attempt = 2
	_, _, err := w.ClaimAnalysis(t.Context(), second, "another")
	require.NoError(t, err)
	before := w.history(t, run)
	engine := &gpufixture.Engine{Detections: seen}
	require.NoError(t, w.analyzer(engine).Run(t.Context(), run))
	require.NoError(t, w.analyzer(engine).Run(t.Context(), second), "the same attempt a second time")
	require.Empty(t, engine.Calls())
	require.Equal(t, before, w.history(t, run))

	third := run
	third.Attempt = 3
	require.NoError(t, w.analyzer(engine).Run(t.Context(), third))
	require.Equal(t, analysis.CompletedStatus, w.analysis(t, run).Status)
	w.requireBilled(t, shortS)
}

// TestTakenOver lets a second attempt claim the work during the first one. The first ends
// without a trace, and the analysis is billed once.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.ask(t, w.readyVideo(t, shortClip))
	began, resume := make(chan struct{}), make(chan struct{})
	var once sync.Once
	slow := &gpufixture.Engine{Detections: seen, Fail: func(int) error {
		once.Do(func() { close(began) })
		<-resume
		return nil
	}}
	ended := make(chan error, 1)
	go func() { ended <- w.analyzer(slow).Run(t.Context(), run) }()
	await(t, began)
	second := run
	second.Attempt = 2
	require.NoError(t, w.analyzer(&gpufixture.Engine{}).Run(t.Context(), second))
	done := w.history(t, run)
	close(resume)
	require.NoError(t, await(t, ended))
	require.Equal(t, done, w.history(t, run))
	require.Equal(t, answer.No, w.analysis(t, run).Result.Answer, "the second attempt had nothing to do")
	w.requireBilled(t, shortS)
}

// TestProgressNeverFalls cuts off a first attempt, as the end of the program does. A second
// one starts again.
func TestProgressNeverFalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.ask(t, w.readyVideo(t, longClip))
	ctx, cut := context.WithCancel(t.Context())
	first := &gpufixture.Engine{Detections: seen, Latency: 600 * time.Millisecond, Fail: func(call int) error {
		if call == 5 {
			cut()
		}
		return nil
	}}
	require.ErrorIs(t, w.analyzer(first).Run(ctx, run), context.Canceled)
	require.False(t, w.analysis(t, run).Status.Terminal(), "an attempt that was cut off has not failed")
	reached := w.analysis(t, run).Percent
	require.Greater(t, reached, 2)

	run.Attempt = 2
	second := &gpufixture.Engine{Detections: seen, Latency: 300 * time.Millisecond, Fail: func(int) error {
		percent := w.analysis(t, run).Percent
		require.GreaterOrEqual(t, percent, reached)
		return nil
	}}
	require.NoError(t, w.analyzer(second).Run(t.Context(), run))
	stages := []analysis.Status{analysis.Queued, analysis.Preparing, analysis.Analyzing, analysis.Rendering, analysis.CompletedStatus}
	order := map[analysis.Status]int{}
	for i, s := range stages {
		order[s] = i
	}
	var state analysis.State
	for _, r := range w.history(t, run) {
		next := analysis.Evolve(state, r.Event.(analysis.Event))
		require.GreaterOrEqual(t, next.Percent, state.Percent)
		require.GreaterOrEqual(t, order[next.Status], order[state.Status])
		state = next
	}
	require.Equal(t, analysis.CompletedStatus, state.Status)
	w.requireBilled(t, longS)
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	now := time.Now()
	engine := &gpufixture.Engine{NotReady: &gpu.UnavailableError{Err: errors.New("starting")}}
	c := &jobs.Capacity{Engine: engine, Now: func() time.Time { return now }}
	err := c.InferenceReady(t.Context())
	require.True(t, fault.Has(err, fault.InferenceUnavailable), "%v", err)
	require.Positive(t, fault.Of(err).RetryAfterS)

	engine.NotReady = nil
	require.NoError(t, c.InferenceReady(t.Context()))
	engine.NotReady = &gpu.UnavailableError{Err: errors.New("gone")}
	require.NoError(t, c.InferenceReady(t.Context()), "checked a moment ago")
	now = now.Add(time.Minute)
	require.True(t, fault.Has(c.InferenceReady(t.Context()), fault.InferenceUnavailable))

	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, c.InferenceReady(canceled), context.Canceled, "a caller that left is not an outage")

	w := newWorld(t)
	run := w.ask(t, w.readyVideo(t, shortClip))
	c.Queue = w.resources
	n, err := c.QueuedAnalyses(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, _, err = w.ClaimAnalysis(t.Context(), command.Run{AccountID: run.AccountID, AnalysisID: run.AnalysisID, VideoID: run.VideoID, Attempt: 1}, "x")
	require.NoError(t, err)
	n, err = c.QueuedAnalyses(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
}
