package main_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"vqa/eventstore/storetest"
	"vqa/migrations"
)

// testNode is one of two nodes on one database. It has its own engine, and its own network to the
// database.
type testNode struct {
	*service
	network *storetest.Proxy
	engine  *faulty
	// began and ended get the time of each request to the engine.
	began, ended chan time.Time
}

// hangEngine makes the engine hold each request until the node cancels it.
func (n *testNode) hangEngine() {
	began, ended := make(chan time.Time, engineRequests), make(chan time.Time, engineRequests)
	n.began, n.ended = began, ended
	n.engine.spoil(func(_ http.ResponseWriter, r *http.Request) bool {
		if !isInfer(r) {
			return false
		}
		began <- time.Now()
		<-r.Context().Done()
		ended <- time.Now()
		return true
	})
}

// restoreEngine makes the engine answer again.
func (n *testNode) restoreEngine() {
	began := n.began
	n.engine.spoil(func(_ http.ResponseWriter, r *http.Request) bool {
		if isInfer(r) {
			began <- time.Now()
		}
		return false
	})
}

// engineRequests is more than the number of requests to an engine in one test.
const engineRequests = 10_000

// newNodePair starts two nodes that share a database, an object store and a secret key.
func newNodePair(t *testing.T) (nodes [2]*testNode, databaseURL string) {
	t.Helper()
	databaseURL = storetest.Database(t, migrations.Up, migrations.Version())
	dir, err := os.MkdirTemp(workshop, "shared-") //nolint:usetesting // other users must be able to enter the folder
	require.NoError(t, err)
	engines := [2]*faulty{newFaulty(t), nil}
	engines[1] = sameWorker(t, engines[0])
	for i := range nodes {
		n := &testNode{network: storetest.NewProxy(t, databaseURL), engine: engines[i]}
		n.service = engineService(t, n.engine, "VQA_DATABASE_URL="+n.network.URL, "VQA_DATA_DIR="+filepath.Join(dir, "data"),
			"VQA_INFERENCE_TIMEOUT=10m", "VQA_INFERENCE_PATIENCE=10m") // only the fault ends the work
		nodes[i] = n
	}
	return nodes, databaseURL
}

// TestTakeover lets a node vanish during an analysis, in several ways. The other node takes the
// analysis over, and the first does no work for it any more, also when it comes back.
func TestTakeover(t *testing.T) {
	t.Parallel()
	nodes, databaseURL := newNodePair(t)
	db, err := pgx.Connect(t.Context(), databaseURL)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(t.Context())) })
	c := nodes[0].account(t, 1000)
	for _, fault := range []struct {
		name       string
		hit, heal  func(*testNode) error
		stopsFirst bool // the node ends its requests before the other one begins
	}{
		{"cut off", func(n *testNode) error { n.network.Silence(); return nil }, func(n *testNode) error { n.network.Resume(); return nil }, true},
		{
			"stopped", func(n *testNode) error { return n.cmd.Process.Signal(syscall.SIGSTOP) },
			func(n *testNode) error { return n.cmd.Process.Signal(syscall.SIGCONT) }, false,
		},
		{"killed", func(n *testNode) error { n.kill(); return nil }, func(n *testNode) error { return n.start() }, true},
	} {
		t.Run(fault.name, func(t *testing.T) {
			for _, n := range nodes {
				n.hangEngine()
			}
			analysisID := c.ask(t, c.readyVideo(t, clip(t, signsClip)), "Is there a stop sign?").text("id")
			victim, other := nodes[0], nodes[1]
			select {
			case at := <-nodes[0].began:
				victim.began <- at
			case at := <-nodes[1].began:
				victim, other = other, victim
				victim.began <- at
			case <-time.After(recovery):
				require.Fail(t, "no node works on the analysis")
			}
			other.restoreEngine()

			require.NoError(t, fault.hit(victim))
			healed := sync.OnceFunc(func() { require.NoError(t, fault.heal(victim)) })
			defer healed() // a node that is stopped cannot be terminated
			hit := time.Now()
			var taken time.Time
			select {
			case taken = <-other.began:
			case <-time.After(recovery):
				require.Fail(t, "the analysis was not taken over")
			}
			t.Logf("the other node worked on the analysis after %s", taken.Sub(hit))
			if fault.stopsFirst {
				select {
				case ended := <-victim.ended:
					victim.ended <- ended
					require.True(t, ended.Before(taken), "the other node began before the first one stopped")
					t.Logf("the first node stopped its work after %s", ended.Sub(hit))
				default:
					require.Fail(t, "the first node still works")
				}
			}
			began := len(victim.began)
			there := &apiClient{other.service, c.key}
			a := there.await(t, "/v1/analyses/"+analysisID, recovery, answer.terminal)
			require.Equal(t, "completed", a.text("status"), "%s", a.raw)
			require.Equal(t, "yes", a.text("result.answer"))

			healed()
			require.True(t, poll(recovery, func() bool {
				var living int
				require.NoError(t, db.QueryRow(t.Context(), "select count(*) from living_nodes").Scan(&living))
				return living == 2
			}), "the first node continues with a new lease")
			if fault.stopsFirst { // a process that is stopped may go on with what it was about to send
				require.Len(t, victim.began, began, "the first node sent no request after its lease")
			}
			require.True(t, poll(recovery, func() bool { return len(victim.ended) >= len(victim.began) }), "the first node ended its requests")
			var attempts []int
			require.NoError(t, db.QueryRow(t.Context(),
				`select array_agg((data->>'attempt')::int order by position) from events where stream = 'analysis/' || $1 and type in ('analysis.started', 'analysis.reclaimed')`,
				analysisID).Scan(&attempts))
			require.Equal(t, []int{1, 2}, attempts)
			require.True(t, poll(recovery, func() bool {
				ready, err := (&apiClient{victim.service, c.key}).try(t, http.MethodGet, "/v1/analyses/"+analysisID, nil)
				return err == nil && ready.text("status") == "completed"
			}), "the first node serves again")
		})
	}
	credits := c.credits(t)
	require.InDelta(t, 0, credits.number("held_seconds"), 0)
	require.InDelta(t, 1000-3*7, credits.number("balance_seconds"), 0, "each analysis is billed once")
	requireLedgerClean(t, nodes[0].service)
}
