package projections_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/handlers/command"
	"vqa/projections"
	"vqa/projections/resources"
)

// TestProgressOfARunningAnalysis reports percentages as an attempt does, and reads the analysis in
// each way that the API has.
func TestProgressOfARunningAnalysis(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	c := w.caller(ctx, t, 1000)
	videoID := w.readyVideo(ctx, t, c)
	p, err := w.CreateBatch(ctx, c, command.CreateBatch{VideoID: videoID, Prompts: []string{"Is there a dog?", "Is there a cat?"}})
	require.NoError(t, err)
	id, tenant := p.Analyses[0].Analysis.ID, resources.Tenant{AccountID: c.AccountID, Livemode: true}
	run := command.Run{AccountID: c.AccountID, AnalysisID: id, VideoID: videoID, Attempt: 1}
	table := resources.NewProgress(w.pool)
	report := func(attempt, percent int) bool {
		current, err := table.Report(ctx, id, attempt, percent)
		require.NoError(t, err)
		return current
	}
	shows := func(percent int) {
		t.Helper()
		one, err := w.resources.Analysis(ctx, tenant, id)
		require.NoError(t, err)
		list, _, err := w.resources.Analyses(ctx, tenant, resources.AnalysisFilter{}, projections.Page{Limit: 10})
		require.NoError(t, err)
		batch, err := w.resources.Batch(ctx, tenant, p.Analyses[0].Analysis.BatchID)
		require.NoError(t, err)
		require.Equal(t, []int{percent, percent, percent, 0}, []int{one.Percent, list[1].Percent, batch[0].Percent, batch[1].Percent})
	}
	claim := func(attempt int) {
		run.Attempt = attempt
		_, _, err := w.ClaimAnalysis(ctx, run, "node")
		require.NoError(t, err)
	}

	require.False(t, report(1, 10), "nobody works on a queued analysis")
	claim(1)
	require.NoError(t, w.ReportProgress(ctx, run, analysis.Analyzing, 2))
	shows(2)
	require.True(t, report(1, 40))
	shows(40)
	require.True(t, report(1, 30), "a lower percent is no error")
	shows(40)

	claim(2)
	require.False(t, report(1, 60), "a later attempt has the analysis")
	require.True(t, report(2, 5), "it starts again")
	shows(40)

	var persistence string
	require.NoError(t, w.pool.QueryRow(ctx, "select relpersistence::text from pg_class where relname = 'analysis_progress'").Scan(&persistence))
	require.Equal(t, "p", persistence, "a crash of the database does not empty the table")
	_, err = w.owner.Exec(ctx, "truncate analysis_progress")
	require.NoError(t, err)
	shows(2)
	require.True(t, report(2, 50))
	shows(50)
	w.rebuild(ctx, t)
	shows(50)
	require.NoError(t, w.ReportProgress(ctx, run, analysis.Rendering, 97))
	shows(97)

	rows := func() (n int) {
		require.NoError(t, w.pool.QueryRow(ctx, "select count(*) from analysis_progress").Scan(&n))
		return n
	}
	age := func() {
		_, err := w.owner.Exec(ctx, "update analysis_progress set updated_at = updated_at - $1::interval", time.Hour)
		require.NoError(t, err)
	}
	remove := func() {
		_, err := table.DeleteEnded(ctx, 10)
		require.NoError(t, err)
	}
	age()
	remove()
	require.Equal(t, 1, rows(), "an open analysis keeps its row, also during a long pause")
	require.True(t, report(2, 97))
	_, err = w.CancelAnalysis(ctx, c, id)
	require.NoError(t, err)
	require.False(t, report(2, 98), "the attempt learns that the analysis was canceled")
	remove()
	require.Equal(t, 1, rows(), "the analysis ended a moment ago")
	age()
	remove()
	require.Zero(t, rows())
}
