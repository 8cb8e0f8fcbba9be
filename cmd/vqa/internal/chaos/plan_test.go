package chaos_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const nodeCount = 3

// kind is a kind of fault.
type kind int

const (
	cutOff kind = iota
	killed
	stopped
	wrongClock
	fullDisk
	noObjects
	hungEngine
	restartedPostgres
	kinds
)

var kindNames = [kinds]string{
	"cut off", "killed", "stopped", "wrong clock", "full disk", "no objects", "hung engine", "Postgres restarted",
}

func (k kind) String() string { return kindNames[k] }

// losesNode reports whether the node loses its lease.
func (k kind) losesNode() bool { return k == cutOff || k == killed || k == stopped }

// hitsNode reports whether one node is hit. The other kinds hit what all nodes use.
func (k kind) hitsNode() bool { return k <= fullDisk }

// fault is one fault of a run.
type fault struct {
	kind      kind
	at, lasts time.Duration // since the begin of the run
	// node is the node that is hit, from 0.
	node int
	// reverse sets a clock back instead of ahead, and stops all engines instead of one.
	reverse bool
}

func (f fault) ends() time.Duration { return f.at + f.lasts }

func (f fault) String() string {
	switch {
	case f.kind == wrongClock && f.reverse:
		return fmt.Sprintf("%s, an hour behind: node %d", f.kind, f.node+1)
	case f.kind == wrongClock:
		return fmt.Sprintf("%s, an hour ahead: node %d", f.kind, f.node+1)
	case f.kind == hungEngine && f.reverse:
		return "hung engine: all engines"
	case f.kind == hungEngine:
		return fmt.Sprintf("hung engine: engine %d", f.node%engineCount+1)
	case f.kind.hitsNode():
		return fmt.Sprintf("%s: node %d", f.kind, f.node+1)
	}
	return f.kind.String() + ": all nodes"
}

// shortestLoss is how long a node must be lost at least: its lease lasts 12 s, and then the sweep of
// another node takes its work.
const shortestLoss = 17 * time.Second

// plan lays out the faults of a run. Each kind comes once before any comes again. Some faults begin
// before the one before has healed, but never on the same node.
func plan(seed uint64, run, lasts time.Duration) (faults []fault) {
	r := rand.New(rand.NewPCG(seed, 0))
	at := lasts / 3
	for {
		for i, k := range r.Perm(int(kinds)) {
			f := fault{kind: kind(k), at: at, lasts: lasts, node: r.IntN(nodeCount), reverse: r.IntN(2) == 0}
			if f.kind.losesNode() {
				f.lasts = max(lasts, shortestLoss)
			}
			overlaps, pause := r.IntN(3) == 0, lasts/6+time.Duration(r.Int64N(int64(lasts/6)))
			if len(faults) > 0 {
				before := faults[len(faults)-1]
				f.at = before.ends() + pause
				if overlaps && before.kind != f.kind && (before.node != f.node || !before.kind.hitsNode() || !f.kind.hitsNode()) {
					f.at = before.ends() - lasts/4
				}
			}
			if (len(faults) >= int(kinds) || i == 0 && len(faults) > 0) && f.ends() > run {
				return faults
			}
			faults = append(faults, f)
		}
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	for _, long := range []bool{false, true} {
		run, lasts := shortRun, shortFault
		if long {
			run, lasts = 10*time.Minute, 30*time.Second
		}
		for seed := range uint64(1000) {
			faults := plan(seed, run, lasts)
			require.Equal(t, faults, plan(seed, run, lasts), "a seed repeats")
			seen := map[kind]int{}
			for i, f := range faults {
				seen[f.kind]++
				for _, other := range faults[i+1:] {
					together := other.at < f.ends()
					require.False(t, together && f.kind.hitsNode() && other.kind.hitsNode() && f.node == other.node, "%v and %v", f, other)
				}
				if i+2 < len(faults) {
					require.Greater(t, faults[i+2].at, f.ends(), "at most two faults at once, so one node is healthy")
				}
			}
			require.Len(t, seen, int(kinds))
			require.LessOrEqual(t, faults[len(faults)-1].ends(), run)
		}
	}
}

// act is an operation of a customer.
type act int

const (
	upload act = iota
	fetch
	ask
	batch
	cancel
	rerun
	remove
	changeKey
	replaceKey
	acts
)

var actNames = [acts]string{"upload", "fetch", "ask", "batch", "cancel", "rerun", "delete", "key created and revoked", "key rotated"}

// actWeights are how often each operation is drawn.
var actWeights = [acts]int{upload: 22, fetch: 6, ask: 34, batch: 8, cancel: 12, rerun: 2, remove: 8, changeKey: 5, replaceKey: 3}

// operation is what a customer does next. The numbers choose the video, the question and so on.
type operation struct {
	act     act
	a, b, c int
	pause   time.Duration // before it
}

// operations draws the sequence of a customer.
func operations(seed uint64, customer int) func() operation {
	r := rand.New(rand.NewPCG(seed, uint64(customer)+1))
	return func() operation {
		n, chosen := r.IntN(100), act(0)
		for n >= actWeights[chosen] {
			n -= actWeights[chosen]
			chosen++
		}
		return operation{chosen, r.IntN(1 << 20), r.IntN(1 << 20), r.IntN(1 << 20), 200*time.Millisecond + time.Duration(r.Int64N(int64(1200*time.Millisecond)))}
	}
}

func TestOperations(t *testing.T) {
	t.Parallel()
	total := 0
	for _, w := range actWeights {
		total += w
	}
	require.Equal(t, 100, total)
	one, same, other := operations(7, 0), operations(7, 0), operations(7, 1)
	var drawn, others []string
	for range 1000 {
		o := one()
		require.Equal(t, o, same(), "a seed repeats")
		drawn, others = append(drawn, actNames[o.act]), append(others, actNames[other().act])
	}
	require.NotEqual(t, drawn, others)
	for _, name := range actNames {
		require.True(t, slices.Contains(drawn, name), "%s never occurs: %s", name, strings.Join(drawn[:20], ", "))
	}
}
