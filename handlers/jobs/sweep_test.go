package jobs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/fault"
	"vqa/domain/video"
	"vqa/eventstore/node"
	"vqa/gpu"
	gpufixture "vqa/gpu/fixture"
	"vqa/handlers/command"
	"vqa/handlers/jobs"
	"vqa/handlers/objects"
)

const (
	aliveNode = "node-alive"
	deadNode  = "node-dead"
)

// sweeper is the sweeper of a node that is alive. Its jobs are only enqueued unless its
// client is started.
func (w *world) sweeper(t *testing.T) (*jobs.Sweeper, *jobs.Client) {
	t.Helper()
	return w.sweeperWith(t, &gpufixture.Engine{Detections: seen})
}

func (w *world) sweeperWith(t *testing.T, engine gpu.Engine) (*jobs.Sweeper, *jobs.Client) {
	t.Helper()
	return w.sweeperOf(t, w.analyzer(engine))
}

func (w *world) sweeperOf(t *testing.T, z *jobs.Analyzer) (*jobs.Sweeper, *jobs.Client) {
	t.Helper()
	client, err := jobs.New(jobs.Options{
		Pool: w.pool, Analyses: 2, Objects: w.objects, Line: w.resources, Log: w.log,
		Analyzer: z,
		Fetcher:  &jobs.Fetcher{Commands: w.Service, Intake: w.intake, Objects: w.objects, Log: w.log},
	})
	require.NoError(t, err)
	presence, err := node.Join(t.Context(), w.pool, aliveNode, "host", 1, w.log)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { presence.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	w.presence = presence
	return &jobs.Sweeper{Client: client, Commands: w.Service, Open: w.resources, Holds: w.ledger, Nodes: presence, Now: w.now, Log: w.log}, client
}

// work lets the sweeper's node work jobs until stop, or the end of the test.
func (w *world) work(t *testing.T, client *jobs.Client) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { client.Run(ctx, w.presence) })
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return stop
}

// attempts are the numbers of the jobs of a kind, oldest first.
func (w *world) attempts(t *testing.T, kind string) []int {
	t.Helper()
	rows, err := w.pool.Query(t.Context(), "select args from river_job where kind = $1 order by id", kind)
	require.NoError(t, err)
	defer rows.Close()
	numbers := []int{}
	for rows.Next() {
		var raw []byte
		require.NoError(t, rows.Scan(&raw))
		var args struct{ Attempt int }
		require.NoError(t, json.Unmarshal(raw, &args))
		numbers = append(numbers, args.Attempt)
	}
	require.NoError(t, rows.Err())
	return numbers
}

// leave changes the waiting jobs to the state in which a process leaves them that died
// during the work, and lets the longest pause between two attempts pass.
func (w *world) leave(t *testing.T, node string) {
	t.Helper()
	tag, err := w.pool.Exec(t.Context(), "update river_job set state = 'running', attempt = 1, attempted_at = now(), attempted_by = array[$1] where state = 'available'", node)
	require.NoError(t, err)
	require.EqualValues(t, 1, tag.RowsAffected())
	w.skip(time.Minute)
}

func TestLostAnalysisIsTakenUpOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ask(t, w.readyVideo(t, shortClip))
	sweeper, client := w.sweeper(t)
	require.NoError(t, sweeper.Sweep(t.Context()))
	require.Empty(t, w.attempts(t, "analyze"), "the feed has a moment to enqueue it")

	w.skip(11 * time.Second)
	other := *sweeper
	other.Client = client
	for range 3 {
		var both sync.WaitGroup
		for _, s := range []*jobs.Sweeper{sweeper, &other} {
			both.Go(func() {
				if err := s.Sweep(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		require.Equal(t, []int{1}, w.attempts(t, "analyze"))
	}
	w.leave(t, aliveNode)
	require.NoError(t, sweeper.Sweep(t.Context()))
	require.Equal(t, []int{1}, w.attempts(t, "analyze"), "a node that is alive works on it")
}

func TestThreeAttemptsThenStuck(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.ask(t, w.readyVideo(t, shortClip))
	sweeper, client := w.sweeper(t)
	var logged bytes.Buffer
	sweeper.Log = slog.New(slog.NewTextHandler(&logged, nil))
	require.NoError(t, client.Analyze(t.Context(), run))
	require.NoError(t, client.Analyze(t.Context(), run), "a redelivered event adds nothing")
	require.Equal(t, []int{1}, w.attempts(t, "analyze"))
	for attempt := 1; attempt <= 3; attempt++ {
		if attempt != 2 { // the second dies before its claim
			claim := run
			claim.Attempt = attempt
			_, _, err := w.ClaimAnalysis(t.Context(), claim, deadNode)
			require.NoError(t, err)
		}
		require.False(t, w.analysis(t, run).Status.Terminal())
		w.leave(t, deadNode)
		require.NoError(t, sweeper.Sweep(t.Context()))
		require.NoError(t, sweeper.Sweep(t.Context()))
	}
	require.Equal(t, []int{1, 2, 3}, w.attempts(t, "analyze"))
	var causes int
	require.NoError(t, w.pool.QueryRow(t.Context(),
		"select count(distinct args->>'cause') from river_job where kind = 'analyze' and args->'cause'->>'request_id' = $1", run.Cause.RequestID).Scan(&causes))
	require.Equal(t, 1, causes, "every attempt carries the cause of the first")
	a := w.analysis(t, run)
	require.Equal(t, analysis.FailedStatus, a.Status)
	require.Equal(t, fault.StuckTimeout, a.Error.Code)
	w.requireBilled(t, 0)
	require.NoError(t, sweeper.Sweep(t.Context()), "there is nothing left to do")
	require.Equal(t, 1, strings.Count(logged.String(),
		"gave up an analysis; it fails without a charge\" analysis_id="+run.AnalysisID+" code=stuck_timeout lost_attempts=3"), logged.String())
}

// TestCleanStopsAreNotCounted: a service that is deployed often finishes long work.
func TestCleanStopsAreNotCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.ask(t, w.readyVideo(t, shortClip))
	sweeper, client := w.sweeper(t)
	require.NoError(t, client.Analyze(t.Context(), run))
	for attempt := 1; attempt <= 5; attempt++ {
		run.Attempt = attempt
		_, _, err := w.ClaimAnalysis(t.Context(), run, deadNode)
		require.NoError(t, err)
		_, err = w.pool.Exec(t.Context(), "update river_job set state = 'cancelled', finalized_at = now() where state = 'available'")
		require.NoError(t, err)
		require.NoError(t, sweeper.Sweep(t.Context()))
	}
	require.Equal(t, []int{1, 2, 3, 4, 5, 6}, w.attempts(t, "analyze"))
	require.False(t, w.analysis(t, run).Status.Terminal())
}

func TestLostFetch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := "https://example.com/clip.mp4"
	v, err := w.CreateVideo(t.Context(), w.caller, command.CreateVideo{URL: &url})
	require.NoError(t, err)
	sweeper, _ := w.sweeper(t)
	w.skip(11 * time.Second)
	for range 3 {
		require.NoError(t, sweeper.Sweep(t.Context()))
		require.Equal(t, video.Processing, w.video(t, v.ID).Status)
		w.leave(t, deadNode)
	}
	require.NoError(t, sweeper.Sweep(t.Context()))
	require.Equal(t, []int{1, 2, 3}, w.attempts(t, "fetch"))
	v = w.video(t, v.ID)
	require.Equal(t, video.FailedStatus, v.Status)
	require.Equal(t, fault.URLFetchFailed, v.Error.Code)
}

func TestExpiredUpload(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sweeper, _ := w.sweeper(t)
	v, err := w.CreateVideo(t.Context(), w.caller, command.CreateVideo{ContentType: "video/mp4"})
	require.NoError(t, err)
	w.skip(video.UploadWindow - time.Minute)
	require.NoError(t, sweeper.Sweep(t.Context()))
	require.Equal(t, video.AwaitingUpload, w.video(t, v.ID).Status)
	w.skip(2 * time.Minute)
	require.NoError(t, sweeper.Sweep(t.Context()))
	v = w.video(t, v.ID)
	require.Equal(t, video.FailedStatus, v.Status)
	require.Equal(t, fault.UploadIncomplete, v.Error.Code)
}

// TestClientWorks lets River run the jobs: a question that was enqueued twice is answered
// once, and an object is removed.
func TestClientWorks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.ask(t, w.readyVideo(t, shortClip))
	_, client := w.sweeper(t)
	gone := objects.VideoKey("video_gone")
	w.put(t, gone, []byte("waste"))
	stop := w.work(t, client)
	for range 2 {
		require.NoError(t, client.Analyze(t.Context(), run))
		require.NoError(t, client.RemoveVideo(t.Context(), command.Removal{AccountID: w.caller.AccountID, VideoID: "video_gone", Key: gone, Attempt: 1}))
	}
	require.Eventually(t, func() bool {
		_, err := w.objects.Stat(t.Context(), gone)
		return fault.Has(err, fault.ResourceNotFound) && w.analysis(t, run).Status.Terminal()
	}, patience, 20*time.Millisecond)
	stop()
	require.Equal(t, analysis.CompletedStatus, w.analysis(t, run).Status)
	require.Equal(t, []int{1}, w.attempts(t, "analyze"))
	w.requireBilled(t, shortS)
	_, err := w.objects.Stat(t.Context(), w.video(t, run.VideoID).File.ObjectKey)
	require.NoError(t, err)
}

// TestStopLeavesTheWorkToTheNextAttempt stops the client during an analysis. The next
// sweep, of any node, takes it up at once.
func TestStopLeavesTheWorkToTheNextAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.ask(t, w.readyVideo(t, shortClip))
	engine := &gpufixture.Engine{Detections: seen, Latency: patience}
	sweeper, client := w.sweeperWith(t, engine)
	stop := w.work(t, client)
	require.NoError(t, client.Analyze(t.Context(), run))
	require.Eventually(t, func() bool { return len(engine.Calls()) > 0 }, patience, 10*time.Millisecond)
	stop()
	require.False(t, w.analysis(t, run).Status.Terminal())
	require.NoError(t, sweeper.Sweep(t.Context()))
	require.Equal(t, []int{1, 2}, w.attempts(t, "analyze"))
	balance, err := w.ledger.Balance(t.Context(), w.caller.AccountID)
	require.NoError(t, err)
	require.EqualValues(t, shortS, balance.HeldSeconds, "the credits stay reserved")
}

// TestExpiredHoldsAreGivenBack leaves an analysis alone for longer than its hold lasts.
func TestExpiredHoldsAreGivenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.ask(t, w.readyVideo(t, shortClip))
	_, _, err := w.ClaimAnalysis(t.Context(), run, aliveNode)
	require.NoError(t, err)
	sweeper, client := w.sweeper(t)
	require.NoError(t, client.Analyze(t.Context(), run))
	w.leave(t, aliveNode) // running, and never done
	w.skip(23 * time.Hour)
	require.NoError(t, sweeper.Sweep(t.Context()))
	require.False(t, w.analysis(t, run).Status.Terminal())

	w.skip(time.Hour)
	for range 2 {
		require.NoError(t, sweeper.Sweep(t.Context()))
		require.Equal(t, fault.StuckTimeout, w.analysis(t, run).Error.Code)
		w.requireBilled(t, 0)
	}
}

// TestForgottenWorkKeepsItsCause: the first job of an analysis was never enqueued. The next
// attempt still records the request it serves.
func TestForgottenWorkKeepsItsCause(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.caller.RequestID = "req_7"
	run := w.ask(t, w.readyVideo(t, shortClip))
	sweeper, _ := w.sweeper(t)
	w.skip(11 * time.Second)
	require.NoError(t, sweeper.Sweep(t.Context()))
	var raw []byte
	require.NoError(t, w.pool.QueryRow(t.Context(), "select args from river_job where kind = 'analyze'").Scan(&raw))
	var args command.Run
	require.NoError(t, json.Unmarshal(raw, &args))
	require.Equal(t, run.AnalysisID, args.AnalysisID)
	require.Equal(t, "req_7", args.Cause.RequestID)
	require.Equal(t, "req_7", args.Cause.CorrelationID)
	require.Contains(t, args.Cause.CausationID, "position:")
}
