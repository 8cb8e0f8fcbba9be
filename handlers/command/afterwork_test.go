package command

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
)

// withAfterwork completes an analysis whose artifacts and narrative are still missing.
func (w *world) withAfterwork(t *testing.T, caller Caller, videoID string) Afterwork {
	t.Helper()
	question := ask(videoID)
	question.Narrative = true
	p, err := w.CreateAnalysis(t.Context(), caller, question)
	require.NoError(t, err)
	run := Run{AccountID: caller.AccountID, AnalysisID: p.Analysis.ID, VideoID: videoID, Attempt: 1}
	_, _, err = w.ClaimAnalysis(t.Context(), run, "worker")
	require.NoError(t, err)
	require.NoError(t, w.CompleteAnalysis(t.Context(), run, yes(), 9_400_000, 3, &analysis.Artifacts{VideoKey: "annotated.mp4"}))
	return Afterwork{AccountID: caller.AccountID, AnalysisID: run.AnalysisID, Attempt: 1}
}

// afterworkFlow records each event that may follow an answer.
func afterworkFlow(t *testing.T, w *world, caller Caller, videoID string) {
	t.Helper()
	good, bad := w.withAfterwork(t, caller, videoID), w.withAfterwork(t, caller, videoID)
	require.NoError(t, w.RecordDrawing(t.Context(), good, &analysis.Artifacts{VideoKey: "annotated.mp4"}))
	require.NoError(t, w.RecordNarrative(t.Context(), good, []analysis.NarrativeEntry{{Text: "A dog is in view."}}))
	require.NoError(t, w.RecordDrawing(t.Context(), bad, nil))
	require.NoError(t, w.FailNarrative(t.Context(), bad))
}

func TestAfterworkEndsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	caller := w.account(100)
	videoID := w.readyVideo(caller)
	work := w.withAfterwork(t, caller, videoID)
	before := stateOf(w, credits, caller.AccountID)
	a, v, err := w.AnalysisWithVideo(ctx, work.AnalysisID)
	require.NoError(t, err)
	require.True(t, a.Drawing && a.Narrating() && v.Exists())

	drawn := &analysis.Artifacts{VideoKey: "annotated.mp4"}
	require.NoError(t, w.RecordDrawing(ctx, work, drawn))
	require.NoError(t, w.RecordNarrative(ctx, work, nil))
	for name, err := range map[string]error{
		"drawn": w.RecordDrawing(ctx, work, nil), "narrated": w.RecordNarrative(ctx, work, nil), "given up": w.FailNarrative(ctx, work),
		"of an unknown analysis": w.RecordDrawing(ctx, Afterwork{AccountID: caller.AccountID, AnalysisID: "an_none"}, nil),
	} {
		require.True(t, IsStale(err), "%s: %v", name, err)
	}
	require.NoError(t, w.DeleteVideo(ctx, caller, videoID), "neither prevents the deletion of the video")
	require.Equal(t, []string{videoID, "videos/" + videoID}, w.intake.removed, "its objects are removed at once")
	after, v, err := w.AnalysisWithVideo(ctx, work.AnalysisID)
	require.NoError(t, err)
	require.False(t, v.Exists())
	require.Equal(t, drawn, after.Artifacts)
	require.Equal(t, &analysis.Narrative{Status: analysis.NarrativeReady}, after.Narration)
	require.Equal(t, a.Result, after.Result)
	require.Equal(t, before, stateOf(w, credits, caller.AccountID), "it costs nothing")
	a, _, err = w.AnalysisWithVideo(ctx, "an_none")
	require.NoError(t, err)
	require.False(t, a.Exists())
}
