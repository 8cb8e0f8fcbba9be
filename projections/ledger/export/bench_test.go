package export_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/fold"
	"vqa/projections/ledger/book"
	"vqa/projections/ledger/export"
	"vqa/projections/ledger/internal/history"
)

// The log of the benchmark: one grant per account, then holds and debits.
const (
	benchAccounts = 20
	benchPairs    = 2500
)

// BenchmarkExport reports entries per second and the peak heap for each format.
func BenchmarkExport(b *testing.B) {
	w := history.New(b)
	for a := range benchAccounts {
		fill(b, w, fmt.Sprintf("acct_%026d", a))
	}
	for _, f := range export.Formats() {
		b.Run(string(f), func(b *testing.B) {
			var entries int64
			peak := peakHeap(b, func() {
				for b.Loop() {
					s, err := book.Open(b.Context(), w.Pool, w.Codec)
					require.NoError(b, err)
					sum, err := export.Write(io.Discard, f, s.Entries(b.Context(), ""), book.Period{}, func() {})
					s.Close()
					require.NoError(b, err)
					entries += sum.Entries
				}
			})
			b.ReportMetric(float64(entries)/b.Elapsed().Seconds(), "entries/s")
			b.ReportMetric(float64(peak)/(1<<20), "MiB-peak")
		})
	}
}

// fill appends the history of an account in large batches.
func fill(b *testing.B, w *history.World, id string) {
	b.Helper()
	stream, at := fold.Credit.Stream(id), history.Start
	var state credit.State
	var recorded eventstore.Recorded
	meta := eventstore.Meta{AccountID: id, RequestID: w.ID("req"), Actor: "system:bench"}
	next := []credit.Command{credit.Grant{AccountID: id, TransactionID: w.ID("txn"), Kind: credit.Purchase, Seconds: 1 << 40}}
	for range benchPairs / 50 {
		for range 50 {
			source := w.ID("an")
			next = append(next,
				credit.Hold{AccountID: id, HoldID: w.ID("hold"), Seconds: 60, SourceType: credit.SourceAnalysis, SourceID: source, ExpiresAt: at.Add(time.Hour)},
				credit.Settle{SourceID: source, TransactionID: w.ID("txn"), Seconds: 47})
		}
		write := eventstore.Write{Stream: stream, Expected: recorded.Version, Chain: recorded.Chain}
		for _, c := range next {
			at = at.Add(time.Second)
			events, err := credit.Decide(state, c, at)
			require.NoError(b, err)
			for _, e := range events {
				state = credit.Evolve(state, e)
				write.Events = append(write.Events, eventstore.NewEvent{Event: e, Meta: meta})
			}
		}
		write.State = state
		all, err := w.Store.Append(b.Context(), eventstore.Batch{Writes: []eventstore.Write{write}})
		require.NoError(b, err)
		recorded, next = all[len(all)-1], nil
	}
}

// peakHeap samples the heap while do runs.
func peakHeap(b *testing.B, do func()) uint64 {
	b.Helper()
	ctx, stop := context.WithCancel(b.Context())
	var peak uint64
	var sampling sync.WaitGroup
	runtime.GC()
	sampling.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	do()
	stop()
	sampling.Wait()
	return peak
}
