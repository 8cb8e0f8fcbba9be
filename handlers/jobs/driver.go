package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivershared/baseservice"
	"github.com/riverqueue/river/rivershared/riverpilot"
	"github.com/riverqueue/river/rivertype"
)

// turnDriver makes River ask a pilot which jobs to work. River Pro plugs in the same way. The
// interface is not part of River's promise of stability, so go.mod pins the version, and
// TestSmallAccountDoesNotWaitForALargeOne notices when River no longer asks.
type turnDriver struct {
	*riverpgxv5.Driver
	pilot riverpilot.Pilot
	now   func() time.Time // nil means the clock of the machine
}

// GetExecutor is called by River.
func (d turnDriver) GetExecutor() riverdriver.Executor {
	if d.now == nil {
		return d.Driver.GetExecutor()
	}
	return rescueExecutor{d.Driver.GetExecutor(), d.now}
}

// rescueExecutor finds stuck jobs by the clock of the service. River's rescuer takes the clock of the
// machine, and a node whose clock is an hour ahead ended the rows of jobs that ran on other nodes.
type rescueExecutor struct {
	riverdriver.Executor

	now func() time.Time
}

// JobGetStuck is called by River.
func (e rescueExecutor) JobGetStuck(ctx context.Context, params *riverdriver.JobGetStuckParams) ([]*rivertype.JobRow, error) {
	own := *params
	own.StuckHorizon = e.now().Add(-rescueAfter)
	return e.Executor.JobGetStuck(ctx, &own)
}

// PluginInit is called by River.
func (turnDriver) PluginInit(*baseservice.Archetype) {}

// PluginPilot is called by River.
func (d turnDriver) PluginPilot() riverpilot.Pilot { return d.pilot }
