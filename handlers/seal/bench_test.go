package seal_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
	"vqa/eventstore/storetest"
	"vqa/eventstore/translog"
	"vqa/handlers/prove"
	"vqa/handlers/seal"
)

// BenchmarkPass seals 60 or 1,000 new events of one account with a node that already runs, with and without a witness
// on this machine.
func BenchmarkPass(b *testing.B) {
	for _, events := range []int{60, 1000} {
		for _, witnesses := range []int{0, 1} {
			b.Run(fmt.Sprintf("events=%d/witnesses=%d", events, witnesses), func(b *testing.B) {
				w := newWorld(b)
				var settings []string
				for range witnesses {
					_, setting := newWitness(b, "witness.example")
					settings = append(settings, setting)
				}
				s := w.sealer(witnessed(b, witnesses, settings...))
				w.seals(s)
				var sealing time.Duration
				for b.Loop() {
					for range events {
						w.buy(w.account, 1)
					}
					began := time.Now()
					w.seals(s)
					sealing += time.Since(began)
				}
				b.ReportMetric(float64(sealing.Microseconds())/1000/float64(b.N), "ms/pass")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// The log of BenchmarkMillion: purchases of many accounts.
const (
	millionAccounts = 10_000
	millionEach     = 100
)

// BenchmarkMillion measures the transparency log with a million entries: the first pass over all of them, the start
// of another node, a pass with 60 and with 1,000 new events, the comparison of all rows with a kept checkpoint, and the
// audit of all rows. It reports the peak resident memory of this process, too, without Postgres.
func BenchmarkMillion(b *testing.B) {
	w := newWorld(b)
	w.fillMillion()
	debug.FreeOSMemory()
	step := func(name string, do func()) {
		peak := storetest.WatchMemory(b)
		began := time.Now()
		do()
		b.ReportMetric(float64(time.Since(began).Microseconds())/1000, name+"-ms")
		b.ReportMetric(peak(), name+"-peak-MB")
		debug.FreeOSMemory()
	}
	s := w.sealer()
	var head seal.Head
	step("first", func() { head = w.seals(s) })
	step("start", func() { w.seals2(w.sealer()) })
	for _, events := range []int{60, 1000} {
		for range events {
			w.buy(w.account, 1)
		}
		step(fmt.Sprintf("pass%d", events), func() { w.seals(s) })
	}
	anchors := seal.Anchors{Files: w.files}
	prover := &prove.Prover{Rows: w.store, Anchors: anchors, Tiles: w.files}
	step("against", func() {
		compared := seal.Comparison{Events: w.store, Codec: codec.Events(), Anchors: anchors, Tiles: w.files}
		c, err := compared.Against(b.Context(), head.Signed, func(int64, int64, translog.Leaf) {})
		require.NoError(b, err)
		require.Equal(b, head.Checkpoint, c)
	})
	step("audit", func() { require.NoError(b, s.FullAudit(b.Context())) })
	began := time.Now()
	proof, err := prover.Entry(b.Context(), w.account, 1)
	require.NoError(b, err)
	b.ReportMetric(float64(time.Since(began).Microseconds())/1000, "proof-ms")
	b.ReportMetric(float64(len(proof)), "proof-bytes")
	consistency, err := translog.ProveConsistency(s.Newest().Checkpoint.Tree, seal.Tree{Files: w.files, Log: 1}.Read(b.Context()), head.Checkpoint.Size)
	require.NoError(b, err)
	b.ReportMetric(float64(len(consistency)), "consistency-hashes")
	b.ReportMetric(float64(len(translog.AddCheckpointRequest(head.Checkpoint.Size, consistency, s.Newest().Signed))), "witness-request-bytes")
	b.ReportMetric(float64(head.Checkpoint.Size), "leaves")
	files, size := 0, int64(0)
	require.NoError(b, filepath.Walk(w.dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			files, size = files+1, size+info.Size()
		}
		return err
	}))
	b.ReportMetric(float64(files), "files")
	b.ReportMetric(float64(size)/1e6, "files-MB")
	b.ReportMetric(0, "ns/op")
}

// fillMillion writes a million purchases into the log. It does not use the store, which would take minutes.
func (w *world) fillMillion() {
	w.Helper()
	ctx := context.WithoutCancel(w.Context())
	const batch = 500
	var heads [][]any
	for first := 0; first < millionAccounts; first += batch {
		var writes []eventstore.Write
		for n := first; n < first+batch; n++ {
			id := fmt.Sprintf("acct_%026d", n)
			write := eventstore.Write{Stream: fold.Credit.Stream(id)}
			for i := range int64(millionEach) {
				granted := credit.Granted{AccountID: id, TransactionID: fmt.Sprintf("txn_%d_%d", n, i), Kind: credit.Purchase, Seconds: 10, BalanceAfter: 10 * (i + 1), At: w.now()}
				write.Events = append(write.Events, eventstore.NewEvent{Event: granted, Meta: eventstore.Meta{AccountID: id, Actor: "test"}})
			}
			writes = append(writes, write)
		}
		encoded, err := codec.Events().Encode(eventstore.Batch{Writes: writes})
		require.NoError(w, err)
		rows := make([][]any, len(encoded))
		for i, e := range encoded {
			rows[i] = []any{e.Stream.String(), e.Version, e.Type, e.AccountID, e.Data, e.Meta, e.Chain[:]}
			if e.Version == millionEach {
				heads = append(heads, []any{e.Stream.String(), e.Version, e.Version - 1, e.Chain[:]})
			}
		}
		_, err = w.owner.CopyFrom(ctx, pgx.Identifier{"events"}, []string{"stream", "version", "type", "account_id", "data", "meta", "chain"}, pgx.CopyFromRows(rows))
		require.NoError(w, err)
	}
	_, err := w.owner.CopyFrom(ctx, pgx.Identifier{"streams"}, []string{"stream", "version", "prior_version", "chain"}, pgx.CopyFromRows(heads))
	require.NoError(w, err)
	_, err = w.owner.Exec(ctx, "vacuum (analyze)")
	require.NoError(w, err)
}
