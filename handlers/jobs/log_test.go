package jobs_test

import (
	"context"
	"errors"
	"flag"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	gpufixture "vqa/gpu/fixture"
)

// These flags measure the log of a longer analysis, as docs/reliability.md shows it.
var (
	loggedLength = flag.Int("log.video", shortS, "length of the video of TestLogOfAnAnalysis in seconds")
	loggedBatch  = flag.Duration("log.batch", 1100*time.Millisecond, "time that the engine takes for four frames in TestLogOfAnAnalysis")
)

// TestLogOfAnAnalysis counts what one analysis adds to the log, with the events of its video and its
// credits. The amount does not depend on how long the work takes.
func TestLogOfAnAnalysis(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Limits.MaxVideoDuration = time.Hour
	v := w.readyVideo(t, func() ([]byte, error) { return renderClip(*loggedLength) })
	var before int64
	require.NoError(t, w.pool.QueryRow(t.Context(), "select max(position) from events").Scan(&before))
	run := w.ask(t, v)
	began := time.Now()
	require.NoError(t, w.analyzer(&gpufixture.Engine{Detections: seen, Latency: *loggedBatch}).Run(t.Context(), run))
	took := time.Since(began)

	// A row has a header of 24 bytes, and a pointer of 4 bytes in its page.
	var events, payload, rows, percent int
	require.NoError(t, w.pool.QueryRow(t.Context(), `
		select count(*), sum(octet_length(data::text) + octet_length(meta::text)), sum(pg_column_size(e.*) + 4)
		from events e where position > $1`, before).Scan(&events, &payload, &rows))
	t.Logf("%d s of video, %.0f s of work: %d events, %d bytes of data and meta, %d bytes of rows",
		*loggedLength, took.Seconds(), events, payload, rows)
	require.Equal(t, 9, events, "those of the caller, four of the work, and those of the bill")
	require.NoError(t, w.pool.QueryRow(t.Context(), "select percent from analysis_progress where analysis_id = $1", run.AnalysisID).Scan(&percent))
	require.Greater(t, percent, 2, "the percent was reported")
}

// deaf is a Progress whose database does not respond.
type deaf struct{ asked atomic.Int32 }

func (d *deaf) Report(context.Context, string, int, int) (bool, error) {
	d.asked.Add(1)
	return false, errors.New("the database does not respond")
}

// TestLostProgressCostsNothing: an attempt continues when its percent is not stored.
func TestLostProgressCostsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.ask(t, w.readyVideo(t, shortClip))
	z, lost := w.analyzer(&gpufixture.Engine{Detections: seen, Latency: 1100 * time.Millisecond}), &deaf{}
	z.Progress = lost
	require.NoError(t, z.Run(t.Context(), run))
	require.Equal(t, analysis.CompletedStatus, w.analysis(t, run).Status)
	require.Positive(t, lost.asked.Load())
}
