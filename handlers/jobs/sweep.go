package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"vqa/domain/analysis"
	"vqa/domain/fault"
	"vqa/domain/video"
	"vqa/eventstore"
	"vqa/eventstore/fold"
	"vqa/handlers/command"
	"vqa/projections/ledger"
)

// maxLost is the number of lost attempts after which a piece of work is given up.
const maxLost = 3

// sweepEvery is the time between two sweeps.
const sweepEvery = 5 * time.Second

// sweepTimeout bounds one sweep.
const sweepTimeout = time.Minute

// grace is how long work may be without a job before it counts as lost. The feed needs a
// moment to enqueue the first job.
const grace = 10 * time.Second

// Nodes knows which nodes are alive.
type Nodes interface {
	// Alive returns a function that reports whether a node, or an incarnation of one, is alive.
	Alive(ctx context.Context) (func(node string) bool, error)
}

// Open lists unfinished work.
type Open interface {
	OpenAnalyses(ctx context.Context) ([]analysis.State, error)
	OpenAfterwork(ctx context.Context) ([]analysis.State, error)
	OpenFetches(ctx context.Context) ([]video.State, error)
	ExpiredUploads(ctx context.Context, now time.Time) ([]video.State, error)
}

// Holds lists the open holds that have expired.
type Holds interface {
	ExpiredHolds(ctx context.Context, now time.Time) ([]ledger.ExpiredHold, error)
}

// Sweeper takes up lost work and ends work that has expired.
type Sweeper struct {
	Client   *Client
	Commands *command.Service
	Open     Open
	Holds    Holds
	Nodes    Nodes
	Now      func() time.Time
	Log      *slog.Logger
}

// Run sweeps at once and then every five seconds until ctx ends.
func (s *Sweeper) Run(ctx context.Context) {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.Log.Error("sweep failed", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// Sweep makes one pass. Every node may sweep: the next attempt of a piece of work is one
// job, independent of the node that enqueues it.
func (s *Sweeper) Sweep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	alive, err := s.Nodes.Alive(ctx)
	if err != nil {
		return fmt.Errorf("read which nodes are alive: %w", err)
	}
	return errors.Join(s.analyses(ctx, alive), s.afterwork(ctx, alive), s.fetches(ctx, alive), s.uploads(ctx), s.holds(ctx))
}

func (s *Sweeper) analyses(ctx context.Context, alive func(string) bool) error {
	jobs, err := jobsOf[analyzeArgs](ctx, s.Client, alive)
	if err != nil {
		return err
	}
	open, err := s.Open.OpenAnalyses(ctx)
	if err != nil {
		return err
	}
	for _, a := range open {
		known := jobs[a.ID]
		run := command.Run{AccountID: a.AccountID, AnalysisID: a.ID, VideoID: a.VideoID, Attempt: a.Attempt + 1, Cause: known.cause}
		if known.working(a.Attempt) || s.Now().Sub(a.CreatedAt) < grace && known.last == 0 {
			continue
		}
		// An attempt that never reached its claim still has its number.
		run.Attempt = max(run.Attempt, known.last+1)
		if known.lost >= maxLost {
			err = errors.Join(err, s.giveUp(ctx, run))
			continue
		}
		s.Log.Warn("taking up a lost analysis", "analysis_id", a.ID, "attempt", run.Attempt, "worker", a.Worker)
		var lost error
		if run.Cause, lost = s.cause(ctx, known, fold.Analysis.Stream(a.ID)); lost == nil {
			lost = s.Client.Analyze(ctx, run)
		}
		err = errors.Join(err, lost)
	}
	return err
}

func (s *Sweeper) giveUp(ctx context.Context, run command.Run) error {
	run.Attempt = 0
	err := s.Commands.FailAnalysis(ctx, run, analysis.Failure{
		Code: fault.StuckTimeout, Message: fault.Lookup(fault.StuckTimeout).Message,
	})
	if command.IsStale(err) {
		return nil
	}
	return err
}

func (s *Sweeper) fetches(ctx context.Context, alive func(string) bool) error {
	jobs, err := jobsOf[fetchArgs](ctx, s.Client, alive)
	if err != nil {
		return err
	}
	open, err := s.Open.OpenFetches(ctx)
	if err != nil {
		return err
	}
	for _, v := range open {
		known := jobs[v.ID]
		if known.working(0) || s.Now().Sub(v.CreatedAt) < grace && known.last == 0 {
			continue
		}
		fetch := command.Fetch{AccountID: v.AccountID, VideoID: v.ID, URL: v.URL, Attempt: known.last + 1, Cause: known.cause}
		if known.lost >= maxLost {
			err = errors.Join(err, s.Commands.FailVideo(ctx, fetch, fault.New(fault.URLFetchFailed, "")))
			continue
		}
		s.Log.Warn("taking up a lost fetch", "video_id", v.ID, "attempt", fetch.Attempt)
		var lost error
		if fetch.Cause, lost = s.cause(ctx, known, fold.Video.Stream(v.ID)); lost == nil {
			lost = s.Client.Fetch(ctx, fetch)
		}
		err = errors.Join(err, lost)
	}
	return err
}

// uploads fails videos whose upload did not arrive in time.
func (s *Sweeper) uploads(ctx context.Context) error {
	expired, err := s.Open.ExpiredUploads(ctx, s.Now())
	for _, v := range expired {
		cause, lost := s.cause(ctx, jobHistory{}, fold.Video.Stream(v.ID))
		if lost == nil {
			lost = s.Commands.FailVideo(ctx, command.Fetch{AccountID: v.AccountID, VideoID: v.ID, Cause: cause},
				fault.New(fault.UploadIncomplete, "Nothing was uploaded within 24 hours."))
		}
		err = errors.Join(err, lost)
	}
	return err
}

// holds releases the holds that were neither settled nor released in time.
func (s *Sweeper) holds(ctx context.Context) error {
	expired, err := s.Holds.ExpiredHolds(ctx, s.Now())
	for _, h := range expired {
		s.Log.Warn("a hold expired", "account_id", h.AccountID, "source_id", h.SourceID, "seconds", h.Seconds)
		err = errors.Join(err, s.Commands.ExpireHold(ctx, h.AccountID, h.SourceID))
	}
	return err
}

// cause is the cause of a piece of work. It comes from its last job, or from the log when
// that job does not exist.
func (s *Sweeper) cause(ctx context.Context, k jobHistory, stream eventstore.StreamID) (command.Cause, error) {
	if k.cause != (command.Cause{}) {
		return k.cause, nil
	}
	return s.Commands.CauseOf(ctx, stream)
}

// jobHistory is what River knows of one piece of work.
type jobHistory struct {
	// last is the highest attempt that was enqueued, 0 for none.
	last int
	// lost counts the attempts whose process died or that failed with an error. An attempt
	// that a clean stop cut off does not count: a service that is deployed often must not
	// give up long work.
	lost int
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
			k.last, k.cause = max(k.last, attempt), cause
			switch {
			case isLive(job, alive):
				if k.live == nil {
					k.live = map[int]bool{}
				}
				k.live[attempt] = true
			case job.State != rivertype.JobStateCancelled:
				k.lost++
			}
			all[id] = k
		}
		if len(page.Jobs) < jobsPage {
			return all, nil
		}
		params = params.After(page.LastCursor)
	}
}

// isLive reports whether a job waits, or runs on a node that is alive.
func isLive(job *rivertype.JobRow, alive func(string) bool) bool {
	switch job.State {
	case rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateScheduled:
		return true
	case rivertype.JobStateRunning:
		return len(job.AttemptedBy) > 0 && alive(job.AttemptedBy[len(job.AttemptedBy)-1])
	default:
		return false
	}
}
