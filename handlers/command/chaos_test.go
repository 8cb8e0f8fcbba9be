package command

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/eventstore"
)

// TestLawsUnderChaos: several goroutines send random commands to two nodes. Their store reports false
// conflicts, fails before a commit, and fails after a commit, so that the outcome is unknown. The log must
// still satisfy the laws.
func TestLawsUnderChaos(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			// With synctest the pauses between tries take no time.
			synctest.Test(t, func(t *testing.T) { chaos(t, seed) })
		})
	}
}

var errBroken = errors.New("the connection broke")

// unreliable returns a shim whose appends fail at random.
func unreliable(seed uint64) *shim {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 1))
	percent := func() int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(100)
	}
	return &shim{
		beforeAppend: func(_ context.Context, b eventstore.Batch) error {
			switch p := percent(); {
			case p < 10:
				return &eventstore.ConflictError{Stream: b.Writes[0].Stream, Expected: b.Writes[0].Expected, Actual: -1}
			case p < 14:
				return errBroken
			}
			return nil
		},
		afterAppend: func(context.Context, eventstore.Batch) error {
			if percent() < 8 {
				return &eventstore.UncertainError{Cause: errBroken}
			}
			return nil
		},
	}
}

func chaos(t *testing.T, seed uint64) {
	calm := newWorld(t)
	one := newWorld(t, withStore(calm.log), withShim(unreliable(seed)))
	two := newWorld(t, withStore(calm.log), withShim(unreliable(seed+1000)))
	m := &randomClients{nodes: []*world{one, two}, videos: map[string][]string{}}
	for range 2 {
		caller := calm.account(300)
		m.callers = append(m.callers, caller)
		m.videos[caller.AccountID] = []string{calm.readyVideo(caller), calm.readyVideo(caller)}
	}
	outcomes := make([][]error, 6)
	var wg sync.WaitGroup
	for i := range outcomes {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(100+i)))
			for range 120 {
				outcomes[i] = append(outcomes[i], m.act(random))
			}
		})
	}
	wg.Wait()

	var all []error
	for _, o := range outcomes {
		all = append(all, o...)
	}
	counts := tally(all)
	for code, n := range counts {
		require.Contains(t, []string{
			"ok", string(fault.InsufficientCredits), string(fault.ResourceConflict), string(fault.ResourceNotFound),
			string(fault.AnalysisNotCancelable), string(fault.DBUnavailable), errBroken.Error(),
		}, code, "%d times", n)
	}
	require.Greater(t, counts["ok"], 100, "%v", counts)
	require.Positive(t, counts[errBroken.Error()], "%v", counts)
	calm.requireLaws()
	m.finish(t, calm)
}

// randomClients sends random commands.
type randomClients struct {
	nodes   []*world
	callers []Caller

	mu     sync.Mutex
	videos map[string][]string // by account
	runs   []Run
}

func (m *randomClients) act(random *rand.Rand) error {
	ctx := context.Background()
	n := m.nodes[random.IntN(len(m.nodes))]
	caller := m.callers[random.IntN(len(m.callers))]
	switch what := random.IntN(20); {
	case what < 6:
		return m.ask(n, caller, random)
	case what == 6:
		_, err := n.GrantCredits(ctx, GrantCredits{
			CreditChange: CreditChange{AccountID: caller.AccountID, Operator: "chaos"}, Kind: credit.Adjustment, Seconds: int64(random.IntN(80) - 40),
		})
		if fault.Has(err, fault.ValidationFailed) { // 0 seconds
			return nil
		}
		return err
	case what == 7:
		v, err := n.CreateVideo(ctx, caller, CreateVideo{ContentType: "video/mp4"})
		if err == nil {
			_, err = n.CompleteVideo(ctx, caller, v.ID)
		}
		if err == nil {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.videos[caller.AccountID] = append(m.videos[caller.AccountID], v.ID)
		}
		return err
	case what == 8:
		return n.DeleteVideo(ctx, caller, m.video(caller, random))
	default:
		return m.report(n, random)
	}
}

func (m *randomClients) ask(n *world, caller Caller, random *rand.Rand) error {
	videoID := m.video(caller, random)
	plan, err := n.CreateAnalysis(context.Background(), caller, ask(videoID))
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.runs = append(m.runs, Run{AccountID: caller.AccountID, AnalysisID: plan.Analysis.ID, VideoID: videoID})
	}
	return err
}

// report acts as a worker, a sweeper or the owner of an analysis.
func (m *randomClients) report(n *world, random *rand.Rand) error {
	ctx := context.Background()
	m.mu.Lock()
	if len(m.runs) == 0 {
		m.mu.Unlock()
		return nil
	}
	// The newest ones are the least likely to have ended.
	r := m.runs[max(0, len(m.runs)-1-random.IntN(6))]
	m.mu.Unlock()
	r.Attempt = 1 + random.IntN(2)
	switch random.IntN(8) {
	case 0, 1, 2:
		_, _, err := n.ClaimAnalysis(ctx, r, "w")
		return err
	case 3, 4:
		stages := []analysis.Status{analysis.Preparing, analysis.Analyzing, analysis.Rendering}
		return n.ReportProgress(ctx, r, stages[random.IntN(3)], random.IntN(100))
	case 5:
		return n.CompleteAnalysis(ctx, r, yes(), 9_400_000, 19, nil)
	case 6:
		r.Attempt *= random.IntN(2)
		return n.FailAnalysis(ctx, r, lost)
	default:
		for _, c := range m.callers {
			if c.AccountID == r.AccountID {
				_, err := n.CancelAnalysis(ctx, c, r.AnalysisID)
				return err
			}
		}
		return nil
	}
}

func (m *randomClients) video(caller Caller, random *rand.Rand) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	own := m.videos[caller.AccountID]
	return own[max(0, len(own)-1-random.IntN(3))]
}

// finish ends all open work on a store without failures. Afterwards there are no holds.
func (m *randomClients) finish(t *testing.T, calm *world) {
	for id, a := range calm.requireLaws().analyses {
		if !a.Status.Terminal() {
			r := Run{AccountID: a.AccountID, AnalysisID: id, VideoID: a.VideoID}
			require.NoError(t, calm.FailAnalysis(context.Background(), r, lost))
		}
	}
	b := calm.requireLaws()
	require.Empty(t, b.holds)
	for _, balance := range b.balances {
		require.Equal(t, balance.PostedSeconds, balance.AvailableSeconds())
	}
	for _, v := range b.videos {
		require.Empty(t, v.OpenAnalyses)
	}
}
