package jobs

import (
	"context"
	"time"

	"vqa/domain/analysis"
	"vqa/domain/fault"
	"vqa/eventstore"
	"vqa/handlers/command"
)

// These are the percentages at which the stages begin.
const (
	startPercent  = 2
	renderPercent = 97
)

const (
	// reportEvery is the least time between two reports of the percent.
	reportEvery = time.Second
	// reportTimeout bounds one report.
	reportTimeout = 2 * time.Second
)

// reporter reports the progress of one attempt: a stage as an event, the percent within it to
// Progress. It learns in this way that the analysis was canceled or taken over.
type reporter struct {
	*Analyzer
	run       command.Run
	durationS *float64
	last      time.Time
}

// stage records that a stage begins.
func (r *reporter) stage(ctx context.Context, stage analysis.Status, percent int) error {
	r.last = time.Now()
	return r.Commands.ReportProgress(ctx, r.run, stage, percent)
}

// frame reports that the video was examined up to a time in seconds. A report that the database
// did not take is lost, and the work continues: a short outage costs no attempt. Error: the
// attempt no longer works on the analysis.
func (r *reporter) frame(ctx context.Context, atS float64) error {
	if time.Since(r.last) < reportEvery {
		return nil
	}
	if err := eventstore.CheckLease(ctx); err != nil {
		return err
	}
	percent := startPercent
	if r.durationS != nil {
		share := min(atS / *r.durationS, 1)
		percent += int(share * (renderPercent - startPercent))
	}
	limited, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	current, err := r.Progress.Report(limited, r.run.AnalysisID, r.run.Attempt, percent)
	r.last = time.Now()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		r.Log.Warn("the progress was not reported", "analysis_id", r.run.AnalysisID, "error", err)
		return nil
	case !current:
		return fault.Newf(fault.ResourceConflict, "Attempt %d no longer works on the analysis.", r.run.Attempt)
	}
	return nil
}
