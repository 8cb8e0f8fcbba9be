package jobs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	gpufixture "vqa/gpu/fixture"
	"vqa/handlers/command"
)

// TestALostLeaseEndsTheWork ends the lease of a node during an analysis. The attempt stops. The node
// continues with the next attempt under its next lease, and the lost lease does not count as a lost
// attempt.
func TestALostLeaseEndsTheWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.ask(t, w.readyVideo(t, shortClip))
	engine := &gpufixture.Engine{Detections: seen, Latency: patience}
	sweeper, client := w.sweeperWith(t, engine)
	w.work(t, client)
	require.NoError(t, client.Analyze(t.Context(), run))
	require.Eventually(t, func() bool { return len(engine.Calls()) > 0 }, patience, 10*time.Millisecond)
	_, err := w.pool.Exec(t.Context(), "update nodes set lease_until = clock_timestamp(), renewed_at = clock_timestamp()")
	require.NoError(t, err)
	state := func() (s string) {
		require.NoError(t, w.pool.QueryRow(t.Context(), "select state from river_job where kind = 'analyze' and args->>'attempt' = '1'").Scan(&s))
		return s
	}
	require.Eventually(t, func() bool { return state() == "cancelled" }, patience, 10*time.Millisecond, "the lease is over")
	require.False(t, w.analysis(t, run).Status.Terminal())

	calls := len(engine.Calls())
	require.NoError(t, sweeper.Sweep(t.Context()))
	require.Eventually(t, func() bool { return len(engine.Calls()) > calls }, patience, 10*time.Millisecond, "the node works under its next lease")
	var workers []string
	require.NoError(t, w.pool.QueryRow(t.Context(),
		"select array_agg(attempted_by[1] order by id) from river_job where kind = 'analyze'").Scan(&workers))
	require.Equal(t, []string{aliveNode + "@1", aliveNode + "@2"}, workers)
	require.Equal(t, 2, w.analysis(t, run).Attempt)
	require.Equal(t, analysis.Analyzing, w.analysis(t, run).Status)
	require.True(t, command.IsStale(w.FailAnalysis(t.Context(), run, analysis.Failure{})), "results of the first attempt are refused")
}
