package jobs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/handlers/command"
	"vqa/handlers/jobs"
)

// TestEachKindHasItsQueue: a node of an earlier release does not work the queue of a new kind of job. In a
// shared queue it would take such a job and discard it.
func TestEachKindHasItsQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client, err := jobs.New(jobs.Options{Pool: w.pool, Log: w.log})
	require.NoError(t, err)
	ctx := t.Context()
	require.NoError(t, client.Analyze(ctx, command.Run{AnalysisID: "an_1", Attempt: 1}))
	require.NoError(t, client.Fetch(ctx, command.Fetch{VideoID: "vid_1", Attempt: 1}))
	require.NoError(t, client.Draw(ctx, command.Afterwork{AnalysisID: "an_1", Attempt: 1}))
	require.NoError(t, client.Narrate(ctx, command.Afterwork{AnalysisID: "an_1", Attempt: 1}))
	require.NoError(t, client.FinishRecording(ctx, "st_1"))
	require.NoError(t, client.RemoveRecording(ctx, "st_1"))
	require.NoError(t, client.RemoveVideo(ctx, command.Removal{VideoID: "vid_1", Attempt: 1}))
	require.NoError(t, client.Notify(ctx, command.Notice{EndpointID: "we_1", Position: 1}))
	var kinds, shared int
	require.NoError(t, w.pool.QueryRow(ctx, `select sum(n)::int, count(*) filter (where n > 1)
		from (select count(distinct kind) as n from river_job group by queue) as q`).Scan(&kinds, &shared))
	require.Equal(t, 8, kinds)
	require.Zero(t, shared, "queues with several kinds")
}
