package command

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/credit"
	"vqa/domain/stream"
	"vqa/domain/video"
	"vqa/eventstore"
)

// books checks the laws of docs/architecture.md#laws on the events of a log.
type books struct {
	t        testing.TB
	versions map[eventstore.StreamID]int64
	balances map[string]credit.State
	holds    map[string]int64  // open holds by id
	ended    map[string]bool   // holds by id
	heldFor  map[string]string // source -> hold
	billed   map[string]int64  // source -> settled seconds
	analyses map[string]analysis.State
	videos   map[string]video.State
	streams  map[string]stream.State
}

// requireLaws checks the whole log of a service without running commands: laws 1, 2, 5 and 8, and the
// relations between aggregates.
func (w *world) requireLaws() *books {
	w.t.Helper()
	b := &books{
		t: w.t, versions: map[eventstore.StreamID]int64{}, balances: map[string]credit.State{}, holds: map[string]int64{},
		ended: map[string]bool{}, heldFor: map[string]string{}, billed: map[string]int64{},
		analyses: map[string]analysis.State{}, videos: map[string]video.State{}, streams: map[string]stream.State{},
	}
	for _, r := range w.history() {
		b.versions[r.Stream]++
		require.Equal(w.t, b.versions[r.Stream], r.Version, "%s has a gap", r.Stream)
		switch e := r.Event.(type) {
		case credit.Event:
			b.post(r.Stream.ID, e)
		case analysis.Event:
			b.analyze(r.Stream.ID, e)
		case stream.Event:
			before := b.streams[r.Stream.ID]
			require.NotEqual(w.t, stream.EndedStatus, before.Status, "%s changed after its end", r.Stream.ID)
			b.streams[r.Stream.ID] = stream.Evolve(before, e)
		case video.Event:
			before := b.videos[r.Stream.ID]
			if _, purged := e.(video.Purged); !purged {
				require.NotEqual(w.t, video.Removed, before.Status, "a removed video changed")
			}
			b.videos[r.Stream.ID] = video.Evolve(before, e)
			if _, deleted := e.(video.Deleted); deleted {
				require.Empty(w.t, before.OpenAnalyses, "a video was deleted while an analysis was open")
			}
		}
	}
	b.join()
	for accountID, folded := range b.balances {
		require.Equal(w.t, folded, w.snapshotOf(accountID), "the snapshot is not the fold")
	}
	return b
}

// post processes a credit event (laws 1 and 2).
func (b *books) post(accountID string, event credit.Event) {
	before := b.balances[accountID]
	after := credit.Evolve(before, event)
	require.GreaterOrEqual(b.t, after.AvailableSeconds(), int64(0), "available of %s is negative", accountID)
	switch e := event.(type) {
	case credit.Granted:
		require.Equal(b.t, before.PostedSeconds+e.Seconds, e.BalanceAfter)
	case credit.Held:
		require.NotContains(b.t, b.heldFor, e.SourceID, "a source has two holds")
		b.heldFor[e.SourceID], b.holds[e.HoldID] = e.HoldID, e.Seconds
	case credit.Extended:
		b.holds[e.HoldID] += e.Seconds
		require.Equal(b.t, b.holds[e.HoldID], e.HeldSeconds)
	case credit.Settled:
		require.Equal(b.t, b.holds[e.HoldID], e.HeldSeconds)
		require.LessOrEqual(b.t, e.Seconds, e.HeldSeconds+before.AvailableSeconds())
		require.Equal(b.t, before.PostedSeconds-e.Seconds, e.BalanceAfter)
		b.billed[e.SourceID] = e.Seconds
		b.end(e.HoldID)
	case credit.Released:
		b.end(e.HoldID)
	case credit.Refunded:
		require.Equal(b.t, before.PostedSeconds+e.Seconds, e.BalanceAfter)
	}
	require.Equal(b.t, after.Totals.PostedSeconds(), after.PostedSeconds, "the balance of %s differs from the sum of its totals", accountID)
	b.balances[accountID] = after
}

func (b *books) end(holdID string) {
	require.Contains(b.t, b.holds, holdID, "a hold that is not open has ended")
	require.False(b.t, b.ended[holdID])
	delete(b.holds, holdID)
	b.ended[holdID] = true
}

// analyze processes an event of an analysis (law 5).
func (b *books) analyze(analysisID string, event analysis.Event) {
	before := b.analyses[analysisID]
	after := analysis.Evolve(before, event)
	if _, ok := event.(analysis.Repeated); ok {
		require.True(b.t, before.RerunEligible() && before.RerunID == "", "%s was repeated without a right to it, or twice", analysisID)
		b.analyses[analysisID] = after
		return
	}
	require.False(b.t, before.Status.Terminal(), "%s changed after its end", analysisID)
	require.GreaterOrEqual(b.t, after.Percent, before.Percent, "percent of %s fell", analysisID)
	b.analyses[analysisID] = after
}

// join compares the aggregates with each other. An unfinished live analysis has an open hold and is open for
// its video. A finished one has neither, and its usage equals the debit.
func (b *books) join() {
	for id, a := range b.analyses {
		holdID, held := b.heldFor[id]
		_, open := b.holds[holdID]
		require.Equal(b.t, held && !a.Status.Terminal(), open, "the hold of %s, which is %s", id, a.Status)
		require.Equal(b.t, held && !a.Status.Terminal(), b.videos[a.VideoID].OpenAnalyses[id], "the video of %s, which is %s", id, a.Status)
		require.False(b.t, held && !a.Livemode, "test mode moved credits")
		if a.RerunID != "" {
			require.Equal(b.t, id, b.analyses[a.RerunID].RerunOf)
		}
		switch {
		case a.RerunOf != "":
			require.Equal(b.t, id, b.analyses[a.RerunOf].RerunID)
			require.NotContains(b.t, b.billed, id, "a free re-run was billed")
			require.Nil(b.t, a.Usage)
			require.Zero(b.t, a.HeldSeconds)
		case a.Status.Terminal():
			require.Equal(b.t, b.billed[id], a.Usage.BilledSeconds)
		}
		if a.Status != analysis.CompletedStatus {
			require.Zero(b.t, b.billed[id], "work without an answer was billed")
		}
	}
	for id, st := range b.streams {
		holdID, held := b.heldFor[id]
		seconds, open := b.holds[holdID]
		require.Equal(b.t, st.Livemode, held, "the hold of %s", id)
		require.Equal(b.t, held && st.Status != stream.EndedStatus, open, "the hold of %s, which is %s", id, st.Status)
		if open {
			require.Equal(b.t, st.HeldSeconds, seconds, "the hold of %s", id)
		}
		if st.Status == stream.EndedStatus {
			require.Equal(b.t, b.billed[id], st.Usage.BilledSeconds, id)
		}
	}
	for source, holdID := range b.heldFor {
		_, isStream := b.streams[source]
		if !isStream {
			require.Contains(b.t, b.analyses, source, "%s was held for nothing", holdID)
		}
	}
}

// snapshotOf returns the balance as the pipeline loads it, from the snapshot.
func (w *world) snapshotOf(accountID string) credit.State {
	w.t.Helper()
	id := credits.Stream(accountID)
	histories, err := w.log.Load(w.t.Context(), id)
	require.NoError(w.t, err)
	state, err := credits.Restore(histories[id])
	require.NoError(w.t, err)
	return state
}
