package projections_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/handlers/command"
	"vqa/projections"
	"vqa/projections/resources"
)

// TestAfterworkIsListedUntilItEnds also checks that the artifacts of a removed video are
// not shown anywhere.
func TestAfterworkIsListedUntilItEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	c := w.caller(ctx, t, 1000)
	videoID, prompt := w.readyVideo(ctx, t, c), "Is there a dog?"
	p, err := w.CreateAnalysis(ctx, c, command.CreateAnalysis{VideoID: videoID, Prompt: &prompt, Narrative: true})
	require.NoError(t, err)
	run := command.Run{AccountID: c.AccountID, AnalysisID: p.Analysis.ID, VideoID: videoID, Attempt: 1}
	work := command.Afterwork{AccountID: c.AccountID, AnalysisID: run.AnalysisID}
	_, _, err = w.ClaimAnalysis(ctx, run, "node")
	require.NoError(t, err)
	requireOpen := func(drawing bool, want ...string) {
		t.Helper()
		open, err := w.resources.OpenAfterwork(ctx)
		require.NoError(t, err)
		ids := []string{}
		for _, a := range open {
			ids = append(ids, a.ID)
		}
		require.ElementsMatch(t, want, ids)
		got, err := w.resources.Drawing(ctx, run.AnalysisID)
		require.NoError(t, err)
		require.Equal(t, drawing, got)
	}
	requireOpen(false)
	planned := &analysis.Artifacts{VideoKey: "annotated.mp4"}
	require.NoError(t, w.CompleteAnalysis(ctx, run, answer.Result{Answer: answer.No}, 7_300_000, 15, planned))
	requireOpen(true, run.AnalysisID)
	require.NoError(t, w.RecordNarrative(ctx, work, nil))
	requireOpen(true, run.AnalysisID)
	require.NoError(t, w.RecordDrawing(ctx, work, planned))
	requireOpen(false)

	tenant := resources.Tenant{AccountID: c.AccountID, Livemode: true}
	shown := func() []*analysis.Artifacts {
		one, err := w.resources.Analysis(ctx, tenant, run.AnalysisID)
		require.NoError(t, err)
		list, _, err := w.resources.Analyses(ctx, tenant, resources.AnalysisFilter{}, projections.Page{Limit: 10})
		require.NoError(t, err)
		require.Len(t, list, 1)
		return []*analysis.Artifacts{one.Artifacts, list[0].Artifacts}
	}
	require.Equal(t, []*analysis.Artifacts{planned, planned}, shown())
	require.NoError(t, w.DeleteVideo(ctx, c, videoID))
	require.Equal(t, []*analysis.Artifacts{nil, nil}, shown())
	removed, err := w.resources.RemovedVideos(ctx, []string{videoID, "video_none"})
	require.NoError(t, err)
	require.Equal(t, map[string]bool{videoID: true}, removed)
	w.rebuild(ctx, t)
}
