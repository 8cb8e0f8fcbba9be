package command

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
	"vqa/migrations"
	"vqa/projections"
	"vqa/projections/ledger"
	"vqa/projections/resources"
)

const (
	processes = 3
	// processKills is how often a process is killed. Between two kills there are a few hundred
	// responses at most.
	processKills = 3
	// processAnswers is the number of responses after which all processes end.
	processAnswers = 1000
	// processLimit is the timeout of a process that hangs.
	processLimit = 2 * time.Minute
)

// TestThreeProcesses: three processes of the operating system, each with its own lanes and caches, work
// on one busy account and some others in one database. Sometimes one is killed and started again. At the
// end the laws hold. Every acknowledged command is in the log once. Every other command is there
// completely or not at all. Every refusal was justified.
func TestThreeProcesses(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), processLimit)
	defer cancel()
	url := storetest.Database(t, migrations.Up, migrations.Version())
	pool, err := postgres.Connect(ctx, url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	w := newWorld(t, withStore(postgres.New(pool, codec.Events(), inlineModels())))
	assignment := assignment{URL: url}
	// The first account gets most commands. The last one has few credits.
	for _, funds := range []int64{1_000_000, 1_000_000, 60} {
		caller := w.account(funds)
		assignment.Accounts = append(assignment.Accounts, workplace{Caller: caller, VideoID: w.readyVideo(caller)})
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	c := &workers{t: t, ctx: ctx, assignment: assignment, random: rand.New(rand.NewPCG(seed, 1)), said: make(chan workerOutput)}
	c.run()
	w.settleDoubts(c.requests)
	requireRequests(t, w, c.requests)
	b := w.requireLaws()
	tight := assignment.Accounts[2].Caller.AccountID
	requireTrueRefusals(t, w, c.requests, tight)
	for accountID, folded := range b.balances {
		live, err := ledger.NewReader(pool).Balance(ctx, accountID)
		require.NoError(t, err)
		require.True(t, folded.Holds.Equal(live.Holds), "the read model of %s", accountID)
		require.Equal(t, []any{folded.PostedSeconds, folded.HeldSeconds, folded.Totals}, []any{live.PostedSeconds, live.HeldSeconds, live.Totals})
	}
	counts := map[string]int{}
	for _, r := range c.requests {
		counts[r.Kind+" "+r.fate()]++
	}
	t.Log(counts)
	for _, met := range []string{"hold ok", "hold insufficient_credits", "settle ok", "release ok", "grant ok"} {
		require.Positive(t, counts[met], "%v", counts)
	}
}

// inlineModels returns the read models of the real service.
func inlineModels() postgres.Option {
	var all []postgres.Projection
	for _, p := range slices.Concat[[]projections.Projection](resources.Projections(), ledger.Projections()) {
		all = append(all, p)
	}
	return postgres.WithProjections(all...)
}

// settleDoubts repeats each grant without a response, with its key. Afterwards it is in the log once.
func (w *world) settleDoubts(requests map[string]*request) {
	w.t.Helper()
	for _, r := range requests {
		if r.Kind == grantKind && r.fate() != "ok" {
			_, err := w.GrantCredits(w.t.Context(), purchaseOf(r.Account, r.Name))
			require.NoError(w.t, err)
			r.repeated = true
		}
	}
}

// requireRequests checks the requests against the log. An acknowledged one is there once. A refused one
// is not there. One without a response is there completely or not at all.
func requireRequests(t *testing.T, w *world, requests map[string]*request) {
	t.Helper()
	events, grants := map[string][]eventstore.Recorded{}, map[string]int{}
	for _, r := range w.history() {
		events[r.Meta.RequestID] = append(events[r.Meta.RequestID], r)
		if g, ok := r.Event.(credit.Granted); ok {
			grants[g.Reason]++
		}
	}
	for _, r := range requests {
		left := typesOf(events[r.Name])
		switch whole := slices.Contains(leaves[r.Kind], left); {
		case r.Kind == grantKind:
			require.Equal(t, 1, grants[r.Name], "%+v", r)
		case r.fate() == "ok":
			require.True(t, whole, "%+v left %q", r, left)
		case r.fate() == unanswered.String() || strings.HasPrefix(r.Code, "db_unavailable"):
			require.True(t, whole || left == "", "%+v left %q", r, left)
		default:
			require.Empty(t, left, "%+v", r)
		}
	}
}

// leaves has the events of each kind of request.
var leaves = map[string][]string{
	"hold": {leavesQueued}, "settle": {leavesCompleted}, "release": {leavesCanceled}, grantKind: {"credit.granted"},
	"claim": {"analysis.started", "analysis.reclaimed"},
}

// requireTrueRefusals checks that each refusal was justified. For insufficient_credits, the account had
// too few credits at some moment of the request. For a stale analysis, another request had ended or
// claimed the analysis.
func requireTrueRefusals(t *testing.T, w *world, requests map[string]*request, tight string) {
	t.Helper()
	o := newOracle(w.log, map[string]int{})
	require.NoError(t, o.follow())
	for _, r := range requests {
		switch r.Code {
		case "", "ok", "db_unavailable":
		case "insufficient_credits":
			require.Equal(t, tight, r.Account)
			states := o.streams[credits.Stream(r.Account)].states
			require.True(t, slices.ContainsFunc(states[r.Before-1:r.After], func(s any) bool {
				return s.(credit.State).AvailableSeconds() < 10
			}), "%+v was not short", r)
		case "resource_conflict", "analysis_not_cancelable":
			a := latest(o, fold.Analysis, r.Subject)
			require.True(t, a.Status.Terminal() || r.Kind != "release" && a.Attempt > 0, "%+v: the analysis is %s", r, a.Status)
		default:
			require.Fail(t, "nothing explains this refusal", "%+v", r)
		}
	}
}

// purchaseOf returns a purchase whose reason and key are the request's name.
func purchaseOf(accountID, name string) GrantCredits {
	return GrantCredits{
		CreditChange: CreditChange{
			AccountID: accountID, Reason: name, Operator: "test", RequestID: name, Idempotency: Caller{}.keyed(name, name).Idempotency,
		},
		Kind: credit.Purchase, Seconds: 10,
	}
}

const grantKind = "grant"

// runOf returns the first attempt at an analysis, caused by a request.
func (p workplace) runOf(analysisID, name string) Run {
	return Run{
		AccountID: p.Caller.AccountID, AnalysisID: analysisID, VideoID: p.VideoID, Attempt: 1, Cause: Cause{RequestID: name},
	}
}

// act is one step of a client: it creates, continues or ends an analysis of its own or of another
// process.
func (p *process) act(ctx context.Context, random *rand.Rand) {
	place := p.Accounts[[]int{0, 0, 0, 1, 2}[random.IntN(5)]]
	caller := place.Caller
	switch what := random.IntN(10); {
	case what == 0:
		p.request(grantKind, caller.AccountID, "", func(name string) error {
			_, err := p.GrantCredits(ctx, purchaseOf(caller.AccountID, name))
			return err
		})
		return
	case what < 5:
		p.request("hold", caller.AccountID, "", func(name string) error {
			caller.RequestID = name
			_, err := p.CreateAnalysis(ctx, caller, ask(place.VideoID))
			return err
		})
		return
	}
	analysisID := p.openOne(ctx, caller.AccountID, random)
	if analysisID == "" {
		return
	}
	if random.IntN(3) == 0 {
		p.request("release", caller.AccountID, analysisID, func(name string) error {
			caller.RequestID = name
			_, err := p.CancelAnalysis(ctx, caller, analysisID)
			return err
		})
		return
	}
	p.request("claim", caller.AccountID, analysisID, func(name string) error {
		_, _, err := p.ClaimAnalysis(ctx, place.runOf(analysisID, name), p.Name)
		return err
	})
	if random.IntN(4) > 0 {
		p.request("settle", caller.AccountID, analysisID, func(name string) error {
			return p.CompleteAnalysis(ctx, place.runOf(analysisID, name), yes(), 9_400_000, 19, nil)
		})
	}
}

// openOne returns an unfinished analysis of the account from the log.
func (p *process) openOne(ctx context.Context, accountID string, random *rand.Rand) string {
	stream := credits.Stream(accountID)
	h, err := p.Store.Load(ctx, stream)
	if err != nil {
		return ""
	}
	balance, err := fold.Credit.Restore(h[stream])
	if err != nil || balance.Holds.Len() == 0 {
		return ""
	}
	n := random.IntN(balance.Holds.Len())
	for hold := range balance.Holds.All() {
		if n--; n < 0 {
			return hold.SourceID
		}
	}
	return ""
}

// fate returns the error code of the response, "ok", or that there was no response.
func (r *request) fate() string {
	if !r.Done {
		return unanswered.String()
	}
	return r.Code
}

func (f fate) String() string {
	return [...]string{"pending", "acknowledged", "rejected", "doubtful", "unanswered"}[f]
}
