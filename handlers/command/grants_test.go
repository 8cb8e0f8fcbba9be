package command

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/grant"
	"vqa/domain/id"
	"vqa/eventstore/fold"
)

// grantOf returns the state of a grant.
func (w *world) grantOf(grantID string) grant.State {
	w.t.Helper()
	events, err := w.Store.LoadAll(w.t.Context(), fold.Grant.Stream(grantID))
	require.NoError(w.t, err)
	s, err := fold.Grant.Fold(grant.State{}, events...)
	require.NoError(w.t, err)
	return s
}

// termsOf returns the terms of a grant of a client.
func (w *world) termsOf(clientID string) grant.Terms {
	return grant.Terms{
		GrantID: w.IDs.New(id.Grant), Livemode: true, ClientID: clientID, ClientName: "Agent", RedirectURI: "http://localhost:1/callback",
		Resource: "https://video.example/mcp", Scope: "mcp",
	}
}

// grantFlow records at least one event of every type of grants and clients.
func grantFlow(t *testing.T, w *world, caller Caller) {
	t.Helper()
	ctx := t.Context()
	client, err := w.RegisterAgentClient(ctx, "req_1", grant.Register{Name: "Agent", RedirectURIs: []string{"http://localhost/callback"}, AddressHash: "hash"})
	require.NoError(t, err)
	denied := w.termsOf(client.ID)
	require.NoError(t, w.DenyAgent(ctx, caller, denied))
	terms := w.termsOf(client.ID)
	code, err := w.ApproveAgent(ctx, caller, terms, "challenge")
	require.NoError(t, err)
	first, err := w.RedeemCode(ctx, "req_1", w.grantOf(terms.GrantID), client.ID, code)
	require.NoError(t, err)
	_, err = w.RefreshAgent(ctx, "req_1", first.State, client.ID, first.Refresh)
	require.NoError(t, err)
	require.NoError(t, w.RevokeGrant(ctx, caller, terms.GrantID))
}

func TestAGrantIsDecidedAndRedeemedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(100)
	terms := w.termsOf("https://agent.example/client")
	code, err := w.ApproveAgent(t.Context(), caller, terms, "challenge")
	require.NoError(t, err)
	_, err = w.ApproveAgent(t.Context(), caller, terms, "challenge")
	requireFault(t, err, fault.ResourceConflict)
	requireFault(t, w.DenyAgent(t.Context(), caller, terms), fault.ResourceConflict)

	g := w.grantOf(terms.GrantID)
	_, err = w.RedeemCode(t.Context(), "req_1", g, "https://evil.example/client", code)
	requireFault(t, err, fault.InvalidAPIKey)
	var wg sync.WaitGroup
	results := make([]error, 8)
	for i := range results {
		wg.Go(func() { _, results[i] = w.RedeemCode(t.Context(), "req_1", g, terms.ClientID, code) })
	}
	wg.Wait()
	done := 0
	for _, err := range results {
		if err == nil {
			done++
			continue
		}
		requireFault(t, err, fault.KeyRevoked)
	}
	require.Equal(t, 1, done, "one of the exchanges of a code succeeds")
	require.Equal(t, grant.CodeReplayed, w.grantOf(terms.GrantID).Reason)
}

// TestTheLedgerBoundsTheSpendingOfAnAgent: an agent reserves at most its limit, in batches and over time, and the
// person is not bound by it.
func TestTheLedgerBoundsTheSpendingOfAnAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(1000)
	videoID := w.readyVideo(caller) // 10 s
	agent := caller
	agent.KeyID, agent.GrantID, agent.GrantLimitSeconds = "", "grant_1", 25
	_, err := w.CreateBatch(t.Context(), agent, batchOf(videoID, 5)) // 10 and four times 5
	requireFault(t, err, fault.QuotaExceeded)
	run := w.claimed(agent, videoID)
	require.NoError(t, w.CompleteAnalysis(t.Context(), run, yes(), 9_900_000, 3, nil))
	_, err = w.CreateBatch(t.Context(), agent, batchOf(videoID, 3)) // 10 and twice 5
	requireFault(t, err, fault.QuotaExceeded)
	require.Equal(t, credit.GrantMeter, fault.Of(err).Details["meter"])
	_, err = w.CreateBatch(t.Context(), agent, batchOf(videoID, 2))
	require.NoError(t, err)
	_, err = w.CreateAnalysis(t.Context(), agent, ask(videoID))
	requireFault(t, err, fault.QuotaExceeded)
	_, err = w.CreateAnalysis(t.Context(), caller, ask(videoID))
	require.NoError(t, err)

	for _, r := range w.history() {
		if held, ok := r.Event.(credit.Held); ok && held.GrantID != "" {
			require.Equal(t, "grant_1", r.Meta.Actor)
			require.EqualValues(t, 25, held.GrantLimitSeconds)
		}
	}
}
