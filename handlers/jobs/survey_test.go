package jobs_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/query/vocabulary"
	"vqa/gpu"
	gpufixture "vqa/gpu/fixture"
	"vqa/handlers/command"
	"vqa/handlers/survey"
)

// counting counts the frames that an engine is asked about.
type counting struct {
	gpu.Engine
	frames atomic.Int64
}

// Detect implements gpu.Engine.
func (c *counting) Detect(ctx context.Context, r gpu.Request) (gpu.Response, error) {
	c.frames.Add(int64(len(r.Frames)))
	return c.Engine.Detect(ctx, r)
}

func (w *world) askAbout(t *testing.T, videoID, prompt string) command.Run {
	t.Helper()
	p, err := w.CreateAnalysis(t.Context(), w.caller, command.CreateAnalysis{VideoID: videoID, Prompt: &prompt})
	require.NoError(t, err)
	return command.Run{AccountID: w.caller.AccountID, AnalysisID: p.Analysis.ID, VideoID: videoID, Attempt: 1, Cause: command.Cause{RequestID: "req_1", CausationID: "position:1"}}
}

// TestASecondQuestionUsesTheSurvey: it is answered from the survey as a scan would answer
// it, and costs the same.
func TestASecondQuestionUsesTheSurvey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	engine := &counting{Engine: &gpufixture.Engine{Detections: seen, Vocabulary: vocabulary.COCO().Names()}}
	z := w.analyzer(engine)
	v := w.readyVideo(t, shortClip)
	first := w.ask(t, v)
	require.NoError(t, z.Run(t.Context(), first))
	looked := engine.frames.Load()
	require.Equal(t, int64(shortS*framesPerS), looked)

	second := w.askAbout(t, v.ID, "How many stop signs are there?")
	again := w.ask(t, v)
	absent := w.askAbout(t, v.ID, "Is there a dog?")
	for _, run := range []command.Run{second, again, absent} {
		require.NoError(t, z.Run(t.Context(), run))
	}
	require.Equal(t, looked, engine.frames.Load(), "no frame was examined again")
	require.Equal(t, 1, *w.analysis(t, second).Result.DetectedCount)
	require.Equal(t, w.analysis(t, first).Result, w.analysis(t, again).Result)
	require.Equal(t, answer.No, w.analysis(t, absent).Result.Answer)
	require.Equal(t, w.analysis(t, first).Usage.Frames, w.analysis(t, again).Usage.Frames)
	w.requireBilled(t, 4*shortS)
}

// TestConcurrentQuestionsShareOneScan: the questions of a batch take turns at their video.
func TestConcurrentQuestionsShareOneScan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	engine := &counting{Engine: &gpufixture.Engine{Detections: seen, Vocabulary: vocabulary.COCO().Names()}}
	z := w.analyzer(engine)
	v := w.readyVideo(t, shortClip)
	var running sync.WaitGroup
	runs := make([]command.Run, 5)
	for i := range runs {
		runs[i] = w.ask(t, v)
		running.Go(func() { _ = z.Run(t.Context(), runs[i]) })
	}
	running.Wait()
	for _, run := range runs {
		require.Equal(t, analysis.CompletedStatus, w.analysis(t, run).Status)
	}
	require.Equal(t, int64(shortS*framesPerS), engine.frames.Load())
}

// TestAFailedScanIsNotSaved: each waiting question then scans the video itself.
func TestAFailedScanIsNotSaved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := w.readyVideo(t, shortClip)
	first, second := w.ask(t, v), w.ask(t, v)
	broken := w.analyzer(&gpufixture.Engine{Fail: func(int) error { return &gpu.InferenceError{Err: errors.New("broken")} }})
	require.NoError(t, broken.Run(t.Context(), first))
	require.Equal(t, analysis.FailedStatus, w.analysis(t, first).Status)
	require.NoError(t, w.analyzer(&gpufixture.Engine{Detections: seen, Vocabulary: vocabulary.COCO().Names()}).Run(t.Context(), second))
	require.Equal(t, analysis.CompletedStatus, w.analysis(t, second).Status)
}

// TestADamagedSurveyIsReplaced: a survey that cannot be read does not fail the analysis.
func TestADamagedSurveyIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	engine := &counting{Engine: &gpufixture.Engine{Detections: seen, Vocabulary: vocabulary.COCO().Names()}}
	z := w.analyzer(engine)
	v := w.readyVideo(t, shortClip)
	w.put(t, survey.Key(v.ID), []byte("damaged"))
	for range 2 {
		run := w.ask(t, v)
		require.NoError(t, z.Run(t.Context(), run))
		require.Equal(t, analysis.CompletedStatus, w.analysis(t, run).Status)
	}
	require.Equal(t, int64(shortS*framesPerS), engine.frames.Load())
}
