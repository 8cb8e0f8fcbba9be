package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"vqa/handlers/command"
)

// jobHistory is what River knows of one piece of work.
type jobHistory struct {
	// last is the highest attempt that was enqueued, 0 for none.
	last int
	// lost counts the attempts whose process died or that failed with an error. An attempt
	// that a clean stop cut off does not count: a service that is deployed often must not
	// give up long work.
	lost int
	// paused counts the attempts that ended because of the infrastructure.
	paused int
	// endedAt is when the attempt last ended, or began when its node died.
	endedAt time.Time
	// cause is the cause of the work, for the events of the next attempt.
	cause command.Cause
	// live are the attempts that wait, or run on a node that is alive.
	live map[int]bool
}

// working reports whether an attempt is under way that can still end the work: the one that
// claimed it, or a later one.
func (k jobHistory) working(claimed int) bool {
	for a := range k.live {
		if a >= claimed {
			return true
		}
	}
	return false
}

// jobsPage is the number of jobs in one page of the list.
const jobsPage = 1000

// unfinished are the states of jobs that may explain unfinished work. A completed job does
// not: it claimed the work and ended it, or was refused.
var unfinished = []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateScheduled, rivertype.JobStateRetryable,
	rivertype.JobStateRunning, rivertype.JobStateDiscarded, rivertype.JobStateCancelled,
}

// attemptArgs are the arguments of a job that is one attempt at a piece of work.
type attemptArgs interface {
	river.JobArgs
	attempt() (id string, number int, cause command.Cause)
}

func (a analyzeArgs) attempt() (id string, number int, cause command.Cause) {
	return a.AnalysisID, a.Attempt, a.Cause
}

func (a fetchArgs) attempt() (id string, number int, cause command.Cause) {
	return a.VideoID, a.Attempt, a.Cause
}

// jobsOf reads the jobs of one kind by the id of their work. The sweep reads them before
// the open work, so that work which ends in between does not count as lost.
func jobsOf[A attemptArgs](ctx context.Context, c *Client, alive func(string) bool) (map[string]jobHistory, error) {
	var args A
	all := map[string]jobHistory{}
	params := river.NewJobListParams().Kinds(args.Kind()).States(unfinished...).First(jobsPage)
	for {
		page, err := c.river.JobList(ctx, params)
		if err != nil {
			return nil, fmt.Errorf("list %s jobs: %w", args.Kind(), err)
		}
		for _, job := range page.Jobs {
			var a A
			if err := json.Unmarshal(job.EncodedArgs, &a); err != nil {
				return nil, fmt.Errorf("read job %d: %w", job.ID, err)
			}
			id, attempt, cause := a.attempt()
			k := all[id]
			if attempt >= k.last {
				k.last, k.endedAt = attempt, endOf(job)
			}
			k.cause = cause
			live, lost := c.look(ctx, job, alive)
			switch {
			case live:
				if k.live == nil {
					k.live = map[int]bool{}
				}
				k.live[attempt] = true
			case lost:
				k.lost++
			case wasPaused(job) || job.State == rivertype.JobStateRunning:
				k.paused++
			}
			all[id] = k
		}
		if len(page.Jobs) < jobsPage {
			return all, nil
		}
		params = params.After(page.LastCursor)
	}
}

// endOf is the time at which a job ended, or began when it has not ended.
func endOf(job *rivertype.JobRow) time.Time {
	switch {
	case job.FinalizedAt != nil:
		return *job.FinalizedAt
	case job.AttemptedAt != nil:
		return *job.AttemptedAt
	}
	return time.Time{}
}

// resting reports whether the pause after the last attempt has not passed. The pause begins
// with the end of the attempt, or with its start when its node died: a node that dies after an
// hour is replaced at once, one that dies at each start is not. A time in the future comes from
// another clock and ends the pause.
func (k jobHistory) resting(id string, now time.Time) bool {
	if k.lost+k.paused == 0 {
		return false
	}
	passed := now.Sub(k.endedAt)
	return passed >= 0 && passed < backoff(k.lost+k.paused, spreadOf(id, k.last))
}

// look reports whether a job waits, or runs on a node that is alive. A job that does not may
// be lost: its node died, or it failed with an error. A job that this node no longer runs,
// although its row says so, ended while the database could not record it. It is not lost.
func (c *Client) look(ctx context.Context, job *rivertype.JobRow, alive func(string) bool) (live, lost bool) {
	switch job.State {
	case rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateScheduled:
		return true, false
	case rivertype.JobStateCancelled:
		return false, false
	case rivertype.JobStateRunning:
		by := ""
		if n := len(job.AttemptedBy); n > 0 {
			by = job.AttemptedBy[n-1]
		}
		if !c.runs.own(by) {
			return alive(by), !alive(by)
		}
		if !c.runs.forgotten(job.ID, time.Now()) {
			return true, false
		}
		// River then ends the row as canceled.
		_, _ = c.river.JobCancel(ctx, job.ID)
		return false, false
	default:
		return false, true
	}
}
