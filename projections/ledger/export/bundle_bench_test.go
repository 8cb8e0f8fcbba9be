package export_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/fold"
	"vqa/projections/ledger/export"
)

// The log of BenchmarkBundle: an account with 1,000 entries among others.
const (
	bundleEntries = 1000
	bundleOthers  = 99
)

// BenchmarkBundle makes and verifies the bundle of an account with 1,000 entries in a log of 100,000 events, and
// reports its size.
func BenchmarkBundle(b *testing.B) {
	p := newPlatform(b, "a")
	at, states, heads := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), map[string]credit.State{}, map[string]eventstore.Recorded{}
	for range bundleEntries {
		var batch eventstore.Batch
		for i := range bundleOthers + 1 {
			id := fmt.Sprintf("acct_%026d", i)
			stream, state, head := fold.Credit.Stream(id), states[id], heads[id]
			events, err := credit.Decide(state, credit.Grant{AccountID: id, TransactionID: p.ID("txn"), Kind: credit.Purchase, Seconds: 5}, at)
			require.NoError(b, err)
			state = credit.Evolve(state, events[0])
			states[id] = state
			batch.Writes = append(batch.Writes, eventstore.Write{
				Stream: stream, Expected: head.Version, Chain: head.Chain, State: state,
				Events: []eventstore.NewEvent{{Event: events[0], Meta: eventstore.Meta{AccountID: id, RequestID: p.ID("req"), Actor: "system:bench"}}},
			})
		}
		recorded, err := p.Store.Append(b.Context(), batch)
		require.NoError(b, err)
		for _, r := range recorded {
			heads[r.Stream.ID] = r
		}
	}
	p.pass(b)
	var genuine memory
	b.Run("make", func(b *testing.B) {
		for b.Loop() {
			genuine, _ = p.bundle(b, fmt.Sprintf("acct_%026d", 50), nil)
		}
		total := 0
		for _, content := range genuine {
			total += content.Len()
		}
		b.ReportMetric(float64(total), "bytes")
		b.ReportMetric(float64(genuine["nodes.txt"].Len()), "bytes-of-nodes")
		b.ReportMetric(float64(genuine["entries.jsonl"].Len()), "bytes-of-entries")
	})
	folder := genuine.folder(b)
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			_, err := export.CheckBundle(os.DirFS(folder), p.Codec, p.key())
			require.NoError(b, err)
		}
	})
	b.Run("verify.py", func(b *testing.B) {
		for b.Loop() {
			out, code := genuine.verdict(b, "--key", p.pin())
			require.Zero(b, code, out)
		}
	})
}
