package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"vqa/eventstore"
	"vqa/handlers/command"
)

// These are the queues. Analyses have their own, so that a question never waits for a fetch
// from a slow server. Removals have their own too, because they must not wait for fetches.
// Drawings take the cores for minutes and run one at a time. Narratives do not wait for
// them.
const (
	queueAnalyses          = "analyses"
	queueVideos            = "videos"
	queueRemovals          = "removals"
	queueDrawings          = "drawings"
	queueNarratives        = "narratives"
	queueMail              = "mail"
	queueRecordings        = "recordings"
	queueRecordingRemovals = "recording_removals"
)

// lastPriority is the lowest priority in River.
const lastPriority = 4

// fetchPoll is how often River looks for jobs without a notification.
const fetchPoll = time.Second

// fetchCooldown is the least time between two fetches of jobs. River sends no notification
// for a job that is enqueued within the cooldown of another. Such a job waits for the poll:
// a question right after an answer would take a second.
const fetchCooldown = 5 * time.Millisecond

// softStop is how long running jobs may take to end when the program stops. The next
// attempt takes up work that is cut off then.
const softStop = 2 * time.Second

// analyzeArgs is one attempt at an analysis.
type analyzeArgs struct {
	command.Run
}

// Kind implements river.JobArgs.
func (analyzeArgs) Kind() string { return "analyze" }

// fetchArgs is one attempt at fetching a video.
type fetchArgs struct {
	command.Fetch
}

// Kind implements river.JobArgs.
func (fetchArgs) Kind() string { return "fetch" }

// Client enqueues jobs and, while it runs, works them.
type Client struct {
	// river enqueues and lists jobs. It works none.
	river   *river.Client[pgx.Tx]
	options Options
	shares  *fetchShares
	runs    *runs
}

// Options are the dependencies of a client.
type Options struct {
	Pool *pgxpool.Pool
	// Analyses is the number of analyses that run at once on this node, at least 1.
	Analyses int
	Analyzer *Analyzer
	Fetcher  *Fetcher
	Objects  Cleaner
	// Recordings makes the files of recordings; nil leaves them to other nodes.
	Recordings Recordings
	// Notifier sends emails; nil leaves them to other nodes.
	Notifier Notifier
	// Line reads the queue of analyses, in which accounts take turns.
	Line Line
	// Backlog counts the unfinished fetches of an account. With nil, all fetches have the
	// same priority.
	Backlog func(ctx context.Context, accountID string) (int, error)
	// Now is the clock of the times that River computes itself, such as the start of a job and the
	// end of a snooze; nil means the clock of the machine. River leaves the others to the database.
	Now func() time.Time
	Log *slog.Logger
}

// New returns a client that enqueues jobs. Run works them.
func New(o Options) (*Client, error) {
	config := &river.Config{Logger: o.Log}
	if o.Now != nil {
		config.Test.Time = insertTime{riverTime(o.Now)}
	}
	client, err := river.NewClient(riverpgxv5.New(o.Pool), config)
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	return &Client{river: client, options: o, shares: &fetchShares{running: map[string]int{}}, runs: newRuns()}, nil
}

// worker returns a client of River that works jobs under a lease. The sweep checks whether the
// incarnation in the name of the client is alive.
func (c *Client) worker(lease eventstore.Lease) (*river.Client[pgx.Tx], error) {
	o, workers := c.options, river.NewWorkers()
	pilot := newTurnPilot(o)
	c.runs.under(lease.Incarnation(), pilot)
	remove := remover{o.Analyzer.Commands, o.Objects}
	addWorker(workers, lease, c.runs, analyzeTimeout, func(ctx context.Context, job *river.Job[analyzeArgs]) error {
		return cutOff(ctx, snoozed(o.Log, job.JobRow, job.Args.AnalysisID, o.Analyzer.Run(ctx, job.Args.Run)))
	})
	addWorker(workers, lease, c.runs, drawTimeout, func(ctx context.Context, job *river.Job[drawArgs]) error {
		return cutOff(ctx, snoozed(o.Log, job.JobRow, job.Args.AnalysisID, o.Analyzer.Draw(ctx, job.Args.Afterwork)))
	})
	addWorker(workers, lease, c.runs, narrateTimeout, func(ctx context.Context, job *river.Job[narrateArgs]) error {
		return cutOff(ctx, snoozed(o.Log, job.JobRow, job.Args.AnalysisID, o.Analyzer.Narrate(ctx, job.Args.Afterwork)))
	})
	addWorker(workers, lease, c.runs, fetchTimeout, func(ctx context.Context, job *river.Job[fetchArgs]) error {
		leave, ok := c.shares.enter(job.Args.AccountID)
		if !ok {
			return river.JobSnooze(shareSnooze) // a snooze is not an attempt
		}
		defer leave()
		return cutOff(ctx, snoozed(o.Log, job.JobRow, job.Args.VideoID, o.Fetcher.Run(ctx, job.Args.Fetch)))
	})
	addWorker(workers, lease, c.runs, removeTimeout, func(ctx context.Context, job *river.Job[removeArgs]) error {
		return cutOff(ctx, snoozed(o.Log, job.JobRow, job.Args.VideoID, remove.run(ctx, job.Args.Removal)))
	})
	addWorker(workers, lease, c.runs, notifyTimeout, func(ctx context.Context, job *river.Job[notifyArgs]) error {
		ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
		defer cancel()
		err := o.Notifier.Notify(ctx, job.Args.Notice)
		if err != nil {
			o.Log.WarnContext(ctx, "could not send an email; trying again", "endpoint_id", job.Args.EndpointID, "attempt", job.Attempt, "attempts", notifyAttempts, "error", err)
		}
		return err
	})
	addWorker(workers, lease, c.runs, recordingTimeout, o.finish)
	addWorker(workers, lease, c.runs, removeTimeout, o.remove)
	config := &river.Config{
		ID:                lease.Incarnation(),
		Logger:            o.Log,
		Workers:           workers,
		FetchCooldown:     fetchCooldown,
		FetchPollInterval: fetchPoll,
		JobTimeout:        -1, // each kind has its own timeout
		// River ends the row of a job whose node died. It leaves a job alone until the timeout of
		// its kind has passed. The sweep takes up the work of a dead node long before.
		RescueStuckJobsAfter: rescueAfter,
		ReindexerSchedule:    river.NeverSchedule(), // the service does not own River's indexes
		SoftStopTimeout:      softStop,
		Queues:               queues(o),
		ErrorHandler:         unworked{c.runs},
	}
	if o.Now != nil {
		config.Test.Time = riverTime(o.Now)
	}
	client, err := river.NewClient(turnDriver{riverpgxv5.New(o.Pool), pilot, o.Now}, config)
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	return client, nil
}

// riverTime is the clock of River. River accepts one only in its settings for tests.
type riverTime func() time.Time

// Now implements rivertype.TimeGenerator.
func (t riverTime) Now() time.Time { return t() }

// NowOrNil implements rivertype.TimeGenerator: with nil, River takes the time in the statement.
func (riverTime) NowOrNil() *time.Time { return nil }

// insertTime is the clock of inserts. Without a time, River's driver takes the one of the machine: jobs
// of a node whose clock is an hour ahead then started an hour late.
type insertTime struct{ riverTime }

// NowOrNil implements rivertype.TimeGenerator.
func (t insertTime) NowOrNil() *time.Time {
	now := t.Now()
	return &now
}

// queues are the queues that a node works. A node without a Renderer leaves drawings to
// others.
func queues(o Options) map[string]river.QueueConfig {
	all := map[string]river.QueueConfig{
		queueAnalyses:   {MaxWorkers: max(o.Analyses, 1)},
		queueVideos:     {MaxWorkers: fetchesPerNode},
		queueRemovals:   {MaxWorkers: 4},
		queueNarratives: {MaxWorkers: 2},
	}
	if o.Recordings != nil {
		all[queueRecordings] = river.QueueConfig{MaxWorkers: 1}
		all[queueRecordingRemovals] = river.QueueConfig{MaxWorkers: 1}
	}
	if o.Notifier != nil {
		all[queueMail] = river.QueueConfig{MaxWorkers: 2}
	}
	if o.Analyzer.Renderer != nil {
		all[queueDrawings] = river.QueueConfig{MaxWorkers: 1}
	}
	return all
}

// attempt makes a job unique by its arguments and keeps River from retrying it.
func attempt(queue string) *river.InsertOpts {
	return &river.InsertOpts{Queue: queue, MaxAttempts: 1, UniqueOpts: river.UniqueOpts{ByArgs: true}}
}

// Analyze enqueues an attempt at an analysis. A second call adds nothing.
func (c *Client) Analyze(ctx context.Context, run command.Run) error {
	_, err := c.river.Insert(ctx, analyzeArgs{run}, attempt(queueAnalyses))
	return err
}

// Fetch enqueues an attempt at fetching a video. A second call adds nothing.
func (c *Client) Fetch(ctx context.Context, fetch command.Fetch) error {
	options := attempt(queueVideos)
	if c.options.Backlog != nil {
		unfinished, err := c.options.Backlog(ctx, fetch.AccountID)
		if err != nil {
			return fmt.Errorf("count the fetches of an account: %w", err)
		}
		options.Priority = fetchPriority(unfinished)
	}
	_, err := c.river.Insert(ctx, fetchArgs{fetch}, options)
	return err
}
