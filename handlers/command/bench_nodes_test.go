package command

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/eventstore/postgres"
)

// latencies has the time of each command that was carried out, and the number of refused ones.
type latencies struct {
	took    []time.Duration
	refused int
	elapsed time.Duration
}

func (l latencies) rate() float64 { return float64(len(l.took)) / l.elapsed.Seconds() }

// at returns a quantile in milliseconds.
func (l latencies) at(q float64) float64 {
	if len(l.took) == 0 {
		return 0
	}
	return float64(l.took[int(q*float64(len(l.took)-1))].Microseconds()) / 1000
}

// refusedPause is how long a client waits after a refusal.
const refusedPause = 10 * time.Millisecond

// repeat runs one command until the slice ends. A client that is refused pauses.
func (l *latencies) repeat(ctx context.Context, b *testing.B, op func(context.Context) error) {
	for ctx.Err() == nil {
		started := time.Now()
		err := op(b.Context())
		switch f := fault.Of(err); {
		case err == nil:
			l.took = append(l.took, time.Since(started))
		case f != nil && (f.Code == fault.CapacityExhausted || f.Code == fault.DBUnavailable):
			l.refused++
			time.Sleep(refusedPause)
		default:
			b.Errorf("a command failed: %v", err)
			return
		}
	}
}

// drive lets clients repeat op for one slice. op gets the number of its client.
func (l *latencies) drive(b *testing.B, clients int, op func(ctx context.Context, client int) error) {
	b.Helper()
	ctx, stop := context.WithTimeout(b.Context(), benchSlice)
	defer stop()
	each := make([]latencies, clients)
	var wg sync.WaitGroup
	started := time.Now()
	for i := range clients {
		wg.Go(func() { each[i].repeat(ctx, b, func(ctx context.Context) error { return op(ctx, i) }) })
	}
	wg.Wait()
	l.elapsed = time.Since(started)
	for _, e := range each {
		l.took, l.refused = append(l.took, e.took...), l.refused+e.refused
	}
	slices.Sort(l.took)
}

// BenchmarkSharedAccount measures one account whose clients are spread over one, two and three nodes.
// Each node has its own pipeline and its own connections, and all share the processors of one machine.
func BenchmarkSharedAccount(b *testing.B) {
	rig := newBenchRig(b)
	nodes := []*Service{rig.service}
	for len(nodes) < 3 {
		pool, err := postgres.Connect(b.Context(), rig.url)
		require.NoError(b, err)
		b.Cleanup(pool.Close)
		nodes = append(nodes, rig.startService(b, pool))
	}
	fmt.Fprint(os.Stdout, "\nOne account on several nodes; a command is an adjustment of its balance.\n\n"+
		"| clients | nodes | commands/s | ratio to one node | p50 ms | p95 ms | p99 ms | most ms | given up |\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, clients := range []int{8, 32} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			b.ReportMetric(0, "ns/op")
			for b.Loop() {
				var alone float64
				for n := 1; n <= len(nodes); n++ {
					var l latencies
					l.drive(b, clients, func(ctx context.Context, client int) error {
						return rig.adjust(ctx, nodes[client%n], rig.hot)
					})
					if n == 1 {
						alone = l.rate()
					}
					fmt.Fprintf(os.Stdout, "| %d | %d | %.0f | %.2f | %.1f | %.1f | %.1f | %.1f | %d |\n",
						clients, n, l.rate(), l.rate()/alone, l.at(0.5), l.at(0.95), l.at(0.99), l.at(1), l.refused)
				}
			}
		})
	}
}

// adjust records one adjustment of the balance, the cheapest command of a ledger.
func (r *benchRig) adjust(ctx context.Context, node *Service, accountID string) error {
	return creditOn(ctx, node, accountID, credit.Grant{
		AccountID: accountID, TransactionID: r.ids.New(id.Transaction), Kind: credit.Adjustment, Seconds: 1,
	})
}

// BenchmarkHotAccount measures an account with one client beside an account in the same lane with
// more clients than the lane has places.
func BenchmarkHotAccount(b *testing.B) {
	rig := newBenchRig(b)
	p := rig.service.Pipeline
	i := slices.IndexFunc(rig.many, func(a string) bool { return p.laneOf(a) == p.laneOf(rig.hot) })
	quiet := rig.many[i]
	fmt.Fprint(os.Stdout, "\nA quiet account beside a hot one in its lane.\n\n"+
		"| clients of the hot account | its commands/s | its refused | quiet: commands/s | p50 ms | p99 ms | refused |\n|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, clients := range []int{0, 128, 2 * laneDepth} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			b.ReportMetric(0, "ns/op")
			for b.Loop() {
				var hot, one latencies
				var wg sync.WaitGroup
				wg.Go(func() {
					hot.drive(b, clients, func(ctx context.Context, _ int) error { return rig.adjust(ctx, rig.service, rig.hot) })
				})
				one.drive(b, 1, func(ctx context.Context, _ int) error { return rig.adjust(ctx, rig.service, quiet) })
				wg.Wait()
				fmt.Fprintf(os.Stdout, "| %d | %.0f | %d | %.0f | %.1f | %.1f | %d |\n",
					clients, hot.rate(), hot.refused, one.rate(), one.at(0.5), one.at(0.99), one.refused)
			}
		})
	}
}
