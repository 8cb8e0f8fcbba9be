package jobs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/narrative"
	"vqa/gpu"
	gpufixture "vqa/gpu/fixture"
	"vqa/handlers/command"
	"vqa/handlers/jobs"
	"vqa/handlers/react"
	"vqa/handlers/survey"
)

// told answers a question with a narrative about a new video.
func (w *world) told(t *testing.T, z *jobs.Analyzer) command.Run {
	t.Helper()
	v, prompt := w.readyVideo(t, shortClip), "Is there a stop sign?"
	p, err := w.CreateAnalysis(t.Context(), w.caller, command.CreateAnalysis{VideoID: v.ID, Prompt: &prompt, Narrative: true})
	require.NoError(t, err)
	run := command.Run{AccountID: w.caller.AccountID, AnalysisID: p.Analysis.ID, VideoID: v.ID, Attempt: 1}
	require.NoError(t, z.Run(t.Context(), run))
	require.Equal(t, &analysis.Narrative{Status: analysis.NarrativeGenerating}, w.analysis(t, run).Narration)
	return run
}

func TestNarrativeIsWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	engine := &gpufixture.Engine{Detections: seen}
	z := w.analyzer(engine)
	run := w.told(t, z)
	looked := len(engine.Calls())
	require.NoError(t, z.Narrate(t.Context(), work(run)))
	want := &analysis.Narrative{Status: analysis.NarrativeReady, Entries: []analysis.NarrativeEntry{{AtS: 0, Text: "A stop sign is in view."}}}
	require.Equal(t, want, w.analysis(t, run).Narration)
	require.Len(t, engine.Calls(), looked, "the narrative describes the detections")
	history := w.history(t, run)
	require.NoError(t, z.Narrate(t.Context(), work(run)), "a second time")
	require.Equal(t, history, w.history(t, run))
	w.requireBilled(t, shortS)

	run = w.told(t, z)
	require.NoError(t, w.objects.Delete(t.Context(), survey.Key(run.VideoID)))
	require.NoError(t, z.Narrate(t.Context(), work(run)))
	require.Equal(t, want, w.analysis(t, run).Narration, "after another scan")
	w.requireGone(t, survey.Key(run.VideoID)) // the video might have been deleted meanwhile
}

// prose is a narrator for tests.
type prose func([]narrative.Entry) ([]narrative.Entry, error)

func (p prose) Narrate(_ context.Context, entries []narrative.Entry) ([]narrative.Entry, error) {
	return p(entries)
}

func TestNarrativeInBetterProse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	z := w.analyzer(&gpufixture.Engine{Detections: seen})
	z.Narrator = prose(func(entries []narrative.Entry) ([]narrative.Entry, error) {
		return []narrative.Entry{{AtS: entries[0].AtS, Text: "Behold, a stop sign."}}, nil
	})
	run := w.told(t, z)
	require.NoError(t, z.Narrate(t.Context(), work(run)))
	require.Equal(t, "Behold, a stop sign.", w.analysis(t, run).Narration.Entries[0].Text)

	z.Narrator = prose(func([]narrative.Entry) ([]narrative.Entry, error) { return nil, errors.New("lost for words") })
	run = w.told(t, z)
	require.NoError(t, z.Narrate(t.Context(), work(run)))
	require.Equal(t, "A stop sign is in view.", w.analysis(t, run).Narration.Entries[0].Text, "rules must do")
}

func TestNarrativeFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := w.analyzer(&gpufixture.Engine{Detections: seen})
	broken := w.analyzer(&gpufixture.Engine{Fail: func(int) error { return &gpu.InferenceError{Err: errors.New("broken")} }})
	run := w.told(t, good)
	require.NoError(t, w.objects.Delete(t.Context(), survey.Key(run.VideoID)))
	require.NoError(t, broken.Narrate(t.Context(), work(run)))
	require.Equal(t, &analysis.Narrative{Status: analysis.NarrativeFailed}, w.analysis(t, run).Narration)
	require.Equal(t, analysis.CompletedStatus, w.analysis(t, run).Status)

	run = w.told(t, good)
	require.NoError(t, w.DeleteVideo(t.Context(), w.caller, run.VideoID))
	require.NoError(t, good.Narrate(t.Context(), work(run)))
	require.Equal(t, &analysis.Narrative{Status: analysis.NarrativeFailed}, w.analysis(t, run).Narration)
}

func TestLostNarrativeIsTakenUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.told(t, w.analyzer(&gpufixture.Engine{Detections: seen}))
	sweeper, _ := w.sweeper(t)
	w.skip(11 * time.Second)
	for range 3 {
		require.NoError(t, sweeper.Sweep(t.Context()))
		require.True(t, w.analysis(t, run).Narrating())
		w.leave(t, deadNode)
	}
	require.Equal(t, []int{1, 2, 3}, w.attempts(t, "narrate"))
	require.NoError(t, sweeper.Sweep(t.Context()))
	require.Equal(t, &analysis.Narrative{Status: analysis.NarrativeFailed}, w.analysis(t, run).Narration, "three were lost")
}

// TestAfterworkIsEnqueued: the event of an answer alone starts the drawing and the
// narrative.
func TestAfterworkIsEnqueued(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	z := w.drawing(&gpufixture.Engine{Detections: seen})
	run := w.told(t, z)
	_, client := w.sweeperWith(t, &gpufixture.Engine{Detections: seen})
	reactor := react.Reactor{Jobs: client}
	for range 2 { // the feed delivers at least once
		for _, e := range w.history(t, run) {
			require.NoError(t, reactor.Handle(t.Context(), e))
		}
	}
	require.Equal(t, []int{1}, w.attempts(t, "draw"))
	require.Equal(t, []int{1}, w.attempts(t, "narrate"))
}
