package jobs_test

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/eventstore/node"
	"vqa/gpu"
	gpufixture "vqa/gpu/fixture"
	"vqa/handlers/command"
	"vqa/handlers/jobs"
	"vqa/projections/resources"
)

// gated is an engine that answers after its gate was opened.
type gated struct {
	gpufixture.Engine
	gate chan struct{}
}

func (g *gated) Detect(ctx context.Context, req gpu.Request) (gpu.Response, error) {
	select {
	case <-g.gate:
		return g.Engine.Detect(ctx, req)
	case <-ctx.Done():
		return gpu.Response{}, ctx.Err()
	}
}

// become makes another account the caller.
func (w *world) become(t *testing.T) {
	t.Helper()
	key, err := w.IssueKey(t.Context(), command.NewKey{Mode: account.Live, Tier: account.Paid, GrantSeconds: grant, Operator: "test"})
	require.NoError(t, err)
	w.caller = command.Caller{AccountID: key.AccountID, KeyID: key.KeyID, Livemode: true, Tier: account.Paid}
}

// node starts a node with a number of slots. It works until the end of the test.
func (w *world) node(t *testing.T, name string, slots int, engine gpu.Engine) *jobs.Client {
	t.Helper()
	client, err := jobs.New(jobs.Options{
		Pool: w.pool, Analyses: slots, Objects: w.objects, Line: w.resources, Log: w.log, Analyzer: w.analyzer(engine),
		Fetcher: &jobs.Fetcher{Commands: w.Service, Intake: w.intake, Objects: w.objects, Log: w.log},
	})
	require.NoError(t, err)
	presence, err := node.Join(t.Context(), w.pool, name, "host", 1, w.log)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { presence.Run(ctx) })
	running.Go(func() { client.Run(ctx, presence) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return client
}

// enqueue asks a question about a new video and enqueues its job.
func (w *world) enqueue(t *testing.T, client *jobs.Client, clip func() ([]byte, error)) command.Run {
	t.Helper()
	run := w.ask(t, w.readyVideo(t, clip))
	require.NoError(t, client.Analyze(t.Context(), run))
	return run
}

func (w *world) awaitStatus(t *testing.T, run command.Run, reached func(analysis.Status) bool) {
	t.Helper()
	require.Eventually(t, func() bool { return reached(w.analysis(t, run).Status) }, patience, 5*time.Millisecond)
}

func hasStarted(s analysis.Status) bool { return s != analysis.Queued }

// TestSmallAccountDoesNotWaitForALargeOne has a node with two slots. A large account may take
// one. A small account starts beside it. The next small one waits for a slot, and goes before
// the second video of the large account, which is older.
func TestSmallAccountDoesNotWaitForALargeOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	engine := &gated{gpufixture.Engine{Detections: seen}, make(chan struct{})}
	client := w.node(t, aliveNode, 2, engine)
	large := w.caller
	first := w.enqueue(t, client, longClip)
	w.awaitStatus(t, first, hasStarted)
	backlog := []command.Run{w.enqueue(t, client, longClip), w.enqueue(t, client, longClip)}
	w.become(t)
	second := w.enqueue(t, client, shortClip)
	w.awaitStatus(t, second, hasStarted)
	w.become(t)
	third := w.enqueue(t, client, shortClip)
	order := append([]command.Run{first, second, third}, backlog...)
	for i, run := range order[2:] {
		a, err := w.resources.Analysis(t.Context(), resources.Tenant{AccountID: run.AccountID, Livemode: true}, run.AnalysisID)
		require.NoError(t, err)
		require.Equal(t, analysis.Queued, a.Status)
		require.Equal(t, i+1, *a.QueuePosition, "positions follow the turns")
	}
	require.Equal(t, large.AccountID, first.AccountID)

	close(engine.gate)
	started := make([]time.Time, len(order))
	for i, run := range order {
		w.awaitStatus(t, run, analysis.Status.Terminal)
		a := w.analysis(t, run)
		require.Equal(t, analysis.CompletedStatus, a.Status)
		started[i] = *a.StartedAt
	}
	require.True(t, slices.IsSortedFunc(started, time.Time.Compare), "work starts in turns: %v", started)
}

// TestTwoNodesTakeTurns lets two nodes choose at the same time. Each analysis starts once, no
// turn is lost, and the turns are forgotten when the queue is empty.
func TestTwoNodesTakeTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, client := w.sweeper(t) // works nothing
	const each = 4
	var runs []command.Run
	for range 3 {
		for range each {
			runs = append(runs, w.enqueue(t, client, shortClip))
		}
		w.become(t)
	}
	for _, name := range []string{"node-1", "node-2"} {
		w.node(t, name, 1, &gpufixture.Engine{Detections: seen})
	}
	states := make([]analysis.State, len(runs))
	for i, run := range runs {
		w.awaitStatus(t, run, analysis.Status.Terminal)
		states[i] = w.analysis(t, run)
		require.Equal(t, analysis.CompletedStatus, states[i].Status)
		require.Equal(t, 1, states[i].Attempt)
	}
	slices.SortFunc(states, func(a, b analysis.State) int { return cmp.Compare(a.StartedAt.UnixNano(), b.StartedAt.UnixNano()) })
	had := map[string]int{}
	for _, run := range runs {
		had[run.AccountID] = 0
	}
	for _, a := range states {
		had[a.AccountID]++
		most, least := slices.Max(slices.Collect(maps.Values(had))), slices.Min(slices.Collect(maps.Values(had)))
		// Two nodes that chose one after the other may claim in the other order.
		require.LessOrEqual(t, most-least, 2, "%v", had)
	}
	require.Eventually(t, func() bool {
		var rows int
		require.NoError(t, w.pool.QueryRow(t.Context(), "select count(*) from account_turns").Scan(&rows))
		return rows == 0
	}, patience, 10*time.Millisecond, "an idle service remembers no turns")
}

// TestAJobWithoutAnOpenAnalysisEnds checks that a job of a canceled analysis keeps no slot.
func TestAJobWithoutAnOpenAnalysisEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, idle := w.sweeper(t)
	canceled := w.enqueue(t, idle, shortClip)
	_, err := w.CancelAnalysis(t.Context(), w.caller, canceled.AnalysisID)
	require.NoError(t, err)
	next := w.enqueue(t, idle, shortClip)
	w.node(t, "node-1", 1, &gpufixture.Engine{Detections: seen})
	w.awaitStatus(t, next, analysis.Status.Terminal)
	require.Equal(t, analysis.CanceledStatus, w.analysis(t, canceled).Status)
}

// TestAForeignJobKeepsNoSlot puts jobs into the queue that no worker gets: their arguments do not
// decode, or their kind is unknown.
func TestAForeignJobKeepsNoSlot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, idle := w.sweeper(t)
	for _, alter := range []string{
		`args = '{"analysis_id": 7}'`, `args = '{"analysis_id": "an_1", "account_id": "acct_1", "attempt": "no number"}'`, `kind = 'of another program'`,
	} {
		id := w.enqueue(t, idle, shortClip).AnalysisID
		tag, err := w.pool.Exec(t.Context(), "update river_job set "+alter+" where args->>'analysis_id' = $1", id)
		require.NoError(t, err)
		require.EqualValues(t, 1, tag.RowsAffected())
	}
	next := w.enqueue(t, idle, shortClip)
	w.node(t, "node-1", 1, &gpufixture.Engine{Detections: seen})
	w.awaitStatus(t, next, analysis.Status.Terminal)
}

// TestAFrozenNodeDoesNotStopTheQueue leaves the lock of the choice to a transaction that does
// nothing more, as a node that freezes does. The database ends it.
func TestAFrozenNodeDoesNotStopTheQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	frozen, err := w.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = frozen.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = frozen.Exec(t.Context(), jobs.LockSQL, jobs.TakeLock)
	require.NoError(t, err)
	client := w.node(t, "node-1", 1, &gpufixture.Engine{Detections: seen})
	w.awaitStatus(t, w.enqueue(t, client, shortClip), analysis.Status.Terminal)
}
