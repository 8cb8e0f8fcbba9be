package command

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/domain/id"
	"vqa/eventstore"
)

const (
	// benchSlice is the time for each figure of a round.
	benchSlice = 2 * time.Second
	// benchAccounts is the number of accounts for the figures over many accounts.
	benchAccounts = 1000
	// benchHold is the seconds of credit that one pair holds and settles.
	benchHold = 30
)

// benchClients has the numbers of clients. Each client runs one command at a time.
var benchClients = []int{1, 8, 32, 256}

// BenchmarkThroughput measures the log and the ledger on a durable Postgres with every inline read model.
// It compares them with pgbench on the same server. One iteration is one round, in which ceilings and
// measurements alternate, so that a drift of the machine affects both.
func BenchmarkThroughput(b *testing.B) {
	rig := newBenchRig(b)
	var rows []benchRow
	for _, clients := range benchClients {
		whole := b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			row := benchRow{clients: clients}
			rig.round(b, clients) // warm up connections, plans and pages
			for b.Loop() {
				row.rounds = append(row.rounds, rig.round(b, clients))
			}
			row.report(b)
			rows = append(rows, row)
		})
		if !whole {
			return
		}
	}
	rig.checkLaws(b)
	printBenchTables(os.Stdout, rig.machine(b), rows)
}

// benchRound has the figures of one round, per second.
type benchRound struct {
	insert, hotUpdate, hotTransaction float64 // transactions of pgbench
	append                            float64 // commands of one event
	pairsMany, pairsOneHot            float64 // a hold and its settlement
}

func (r *benchRig) round(b *testing.B, clients int) benchRound {
	var out benchRound
	out.insert = r.pgbench(b, clients, insertScript)
	out.append = r.drive(b, clients, &r.appended, func(ctx context.Context, n int64) error {
		_, err := r.service.CreateVideo(ctx, r.caller(n), CreateVideo{ContentType: "video/mp4"})
		return err
	})
	out.pairsMany = r.drive(b, clients, &r.paired, func(ctx context.Context, n int64) error {
		return r.holdAndSettle(ctx, r.account(n))
	})
	out.hotUpdate = r.pgbench(b, clients, hotUpdateScript)
	out.hotTransaction = r.pgbench(b, clients, hotTransactionScript)
	out.pairsOneHot = r.drive(b, clients, &r.paired, func(ctx context.Context, _ int64) error {
		return r.holdAndSettle(ctx, r.hot)
	})
	return out
}

// drive lets clients repeat op for one slice and returns the calls per second. An error ends the benchmark.
// n numbers the calls of all clients.
func (r *benchRig) drive(b *testing.B, clients int, total *atomic.Int64, op func(ctx context.Context, n int64) error) float64 {
	b.Helper()
	var wg sync.WaitGroup
	var calls, done atomic.Int64
	failures := make(chan error, clients)
	started := time.Now()
	for range clients {
		wg.Go(func() {
			for time.Since(started) < benchSlice {
				if err := op(b.Context(), calls.Add(1)); err != nil {
					failures <- err
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	elapsed := time.Since(started)
	close(failures)
	require.NoError(b, <-failures)
	total.Add(done.Load())
	return float64(done.Load()) / elapsed.Seconds()
}

// holdAndSettle records the hold and the settlement of one analysis, without the analysis.
func (r *benchRig) holdAndSettle(ctx context.Context, accountID string) error {
	source := r.ids.New(id.Analysis)
	if err := creditOn(ctx, r.service, accountID, credit.Hold{
		AccountID: accountID, HoldID: r.ids.New(id.Transaction), Seconds: benchHold,
		SourceType: credit.SourceAnalysis, SourceID: source,
	}); err != nil {
		return err
	}
	return creditOn(ctx, r.service, accountID, credit.Settle{
		SourceID: source, TransactionID: r.ids.New(id.Transaction), Seconds: benchHold,
	})
}

// creditOn runs one credit command through the pipeline of a node as the use cases do.
func creditOn(ctx context.Context, node *Service, accountID string, c credit.Command) error {
	in := node.operatorIntent(accountID, "bench", "")
	in.streams = []eventstore.StreamID{credits.Stream(accountID)}
	return node.Pipeline.do(ctx, in, func(ss *session) error {
		_, err := credits.record(ss, accountID, c)
		return err
	})
}
