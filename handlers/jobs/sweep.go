package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

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
	UnpurgedVideos(ctx context.Context) ([]video.State, error)
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
	return errors.Join(s.analyses(ctx, alive), s.afterwork(ctx, alive), s.fetches(ctx, alive), s.removals(ctx, alive), s.uploads(ctx), s.holds(ctx))
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
		age := s.Now().Sub(a.CreatedAt)
		if age >= workLife {
			err = errors.Join(err, s.giveUp(ctx, run, known, age))
			continue
		}
		if known.working(a.Attempt) || age < grace && known.last == 0 {
			continue
		}
		// An attempt that never reached its claim still has its number.
		run.Attempt = max(run.Attempt, known.last+1)
		if known.lost >= maxLost {
			err = errors.Join(err, s.giveUp(ctx, run, known, age))
			continue
		}
		if known.resting(a.ID, s.Now()) {
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

// giveUp fails an analysis with stuck_timeout. The node that worked on it is gone and can log nothing.
func (s *Sweeper) giveUp(ctx context.Context, run command.Run, known jobHistory, age time.Duration) error {
	run.Attempt = 0
	err := s.Commands.FailAnalysis(ctx, run, analysis.Failure{
		Code: fault.StuckTimeout, Message: fault.Lookup(fault.StuckTimeout).Message,
	})
	if command.IsStale(err) {
		return nil
	}
	if err == nil {
		s.Log.Warn("gave up an analysis; it fails without a charge", "analysis_id", run.AnalysisID,
			"code", fault.StuckTimeout, "lost_attempts", known.lost, "age", age.Round(time.Second))
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
		age := s.Now().Sub(v.CreatedAt)
		if age < workLife && (known.working(0) || age < grace && known.last == 0) {
			continue
		}
		fetch := command.Fetch{AccountID: v.AccountID, VideoID: v.ID, URL: v.URL, Attempt: known.last + 1, Cause: known.cause}
		if known.lost >= maxLost || age >= workLife {
			s.Log.Warn("giving up a fetch", "video_id", v.ID, "code", fault.URLFetchFailed,
				"lost_attempts", known.lost, "age", age.Round(time.Second))
			err = errors.Join(err, s.Commands.FailVideo(ctx, fetch, fault.New(fault.URLFetchFailed, "")))
			continue
		}
		if known.resting(v.ID, s.Now()) {
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

// removals takes up the removals of the bytes of deleted videos until the bytes are gone.
func (s *Sweeper) removals(ctx context.Context, alive func(string) bool) error {
	jobs, err := jobsOf[removeArgs](ctx, s.Client, alive)
	if err != nil {
		return err
	}
	removed, err := s.Open.UnpurgedVideos(ctx)
	if err != nil {
		return err
	}
	for _, v := range removed {
		known := jobs[v.ID]
		if known.working(0) || known.resting(v.ID, s.Now()) {
			continue
		}
		removal := command.Removal{AccountID: v.AccountID, VideoID: v.ID, Attempt: known.last + 1}
		if v.File != nil {
			removal.Key = v.File.ObjectKey
		}
		var lost error
		if removal.Cause, lost = s.cause(ctx, known, fold.Video.Stream(v.ID)); lost == nil {
			lost = s.Client.RemoveVideo(ctx, removal)
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
