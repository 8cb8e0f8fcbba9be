package command

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/eventstore"
)

// The simulation: one to three nodes, each with its own pipeline and caches, work on one log. Every call
// of a node to the log waits at a gate. Each step is drawn from a seed:
//
//   - a call runs, gets a late response, fails, or takes effect and loses its response;
//   - a node crashes;
//   - a client sends a new command, repeats one, or gives up;
//   - time passes.
//
// An oracle reads the log and checks the laws (simulation_oracle_test.go, simulation_books_test.go). Every
// response to a client must agree with the log (simulation_judge_test.go).
//
// A run depends on its seed only, so that a failure can be repeated.

var (
	simSeed = flag.Uint64("sim.seed", 0, "simulate only this seed, and print its steps")
	simSoak = flag.Uint64("sim.soak", 0, "simulate so many seeds from a random base, with progress")
)

const (
	// simSeeds is the number of seeds in every test run.
	simSeeds = 3000
	// simSteps is the number of drawn steps of a run.
	simSteps = 80
	// progressEvery is the interval of the progress messages of a soak test.
	progressEvery = 5 * time.Second
)

func TestSimulation(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	runs, met, progress := uint64(0), map[string]int{}, soakProgress(*simSoak)
	each := func(s *sim) {
		mu.Lock()
		defer mu.Unlock()
		runs++
		for what, n := range s.met {
			met[what] += n
		}
		if *simSoak > 0 {
			progress(runs)
		}
	}
	switch {
	case *simSeed != 0:
		s, err := simulate(t, *simSeed, nil)
		t.Logf("the steps of seed %d:\n%s", *simSeed, strings.Join(s.trace, "\n"))
		require.NoError(t, err)
	case *simSoak != 0:
		base := rand.Uint64N(1 << 48)
		fmt.Fprintf(os.Stderr, "simulating %d seeds from %d\n", *simSoak, base)
		simulateAll(t, base, *simSoak, each)
	default:
		simulateAll(t, 1, simSeeds, each)
		for _, what := range mustMeet {
			// The check needs all seeds.
			require.False(t, runs == simSeeds && met[what] == 0, "no run met %q, all of them met %v", what, met)
		}
	}
}

// simulateAll runs n seeds from a base and stops at the first that fails.
func simulateAll(t *testing.T, base, n uint64, each func(*sim)) {
	var next atomic.Uint64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < n && !t.Failed(); i = next.Add(1) - 1 {
				t.Run(fmt.Sprintf("seed=%d", base+i), func(t *testing.T) { each(requireSeed(t, base+i)) })
			}
		})
	}
	workers.Wait()
}

// requireSeed simulates a seed. On failure it prints the command that repeats it.
func requireSeed(t *testing.T, seed uint64) *sim {
	s, err := simulate(t, seed, nil)
	if err == nil {
		return s
	}
	tail := s.trace[max(0, len(s.trace)-25):]
	t.Fatalf("seed %d breaks a law: %v\nits last steps:\n%s\nrepeat it with\n"+
		"  go test ./handlers/command -run '^TestSimulation$' -v -sim.seed=%d", seed, err, strings.Join(tail, "\n"), seed)
	return nil
}

// soakProgress prints the progress of a soak test of n seeds.
func soakProgress(n uint64) func(done uint64) {
	start := time.Now()
	last := start
	return func(done uint64) {
		now := time.Now()
		if now.Sub(last) < progressEvery && done < n {
			return
		}
		last = now
		rate := float64(done) / now.Sub(start).Seconds()
		left := time.Duration(float64(n-done) / rate * float64(time.Second)).Round(time.Second)
		fmt.Fprintf(os.Stderr, "%d of %d seeds, %.0f a second, %s left\n", done, n, rate, left)
	}
}

// simulate runs one seed. flawed, if not nil, wraps the store of the nodes with a broken one.
func simulate(t *testing.T, seed uint64, flawed func(eventstore.Store) eventstore.Store) (s *sim, err error) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		s = newSim(seed)
		defer s.stop()
		err = s.run(flawed)
	})
	return s, err
}

// TestSimulationRepeats: the same seed leads to the same steps and the same log.
func TestSimulationRepeats(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		one, err := simulate(t, seed, nil)
		require.NoError(t, err)
		two, err := simulate(t, seed, nil)
		require.NoError(t, err)
		require.Equal(t, one.trace, two.trace, "seed %d", seed)
		require.Equal(t, one.oracle.chains(), two.oracle.chains(), "seed %d", seed)
	}
}

// mustMeet lists the situations that the runs of a test must cover. Otherwise a simulation that never
// crashes a node or never repeats a request would pass.
var mustMeet = []string{
	"crash", "clock", "deadline", "gave up", "late commit", "late answer", "broken", "in doubt, recorded", "in doubt, lost",
	"conflict", "deadlock", "too many conflicts", "group of several", "snapshot loaded", "remembered", "replayed",
	"unanswered but recorded", "ok", "insufficient_credits", "grant_exhausted", "concurrency_limit_exceeded",
	"resource_conflict", "resource_not_found", "analysis_not_cancelable", "test_key_fixture_only",
	"idempotency_unavailable", "idempotency_key_reused", "validation_failed", "db_unavailable",
	"sandbox_limit_exceeded", "upload_incomplete", "video_too_long", "credit.granted", "credit.held",
	"credit.settled", "credit.released", "credit.refunded", "ledger.sealed", "analysis.started",
	"analysis.reclaimed", "analysis.progressed", "analysis.completed", "analysis.failed", "analysis.canceled",
	"analysis.drawn", "analysis.narrated", "analysis.narration_failed",
	"analysis.rerun", "re-run completed", "re-run failed", "re-run canceled", "rerun_not_eligible", "video.ready", "video.deleted", "video.failed", "account.key_revoked", "sandbox.issued",
	"account.key_replaced", "account.restricted", "account.upgraded",
}
