package seal_test

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// BenchmarkBesideSealing measures purchases of 32 clients on 200 accounts without and with a sealer that runs on its
// schedule: a look every 5 s, and a pass after 1,000 events. The slices alternate, so that a drift of the machine
// affects both. It reports commands a second, and the processor time of this process and of Postgres for each command:
// other programs change the first more than the second. The database must run on this machine.
func BenchmarkBesideSealing(b *testing.B) {
	const slice, collectorPercent = 12 * time.Second, 400 // as in cmd/vqa
	defer debug.SetGCPercent(debug.SetGCPercent(collectorPercent))
	w := newWorld(b)
	var ids []string
	for range 200 {
		ids = append(ids, w.newAccount())
	}
	s := w.sealer()
	var alone, beside costs
	w.drive(ids, slice/2) // warm up
	for n := 0; b.Loop(); n++ {
		for turn := range 2 {
			if (turn+n)%2 == 0 {
				alone.measure(w, func() int64 { return w.drive(ids, slice) })
				continue
			}
			_, err := s.Pass(b.Context()) // the events of the slice before
			require.NoError(b, err)
			ctx, stop := context.WithCancel(b.Context())
			var sealing sync.WaitGroup
			sealing.Go(func() { s.Run(ctx) })
			beside.measure(w, func() int64 { return w.drive(ids, slice) })
			stop()
			sealing.Wait()
			require.Nil(b, s.Found())
		}
	}
	b.ReportMetric(median(alone.rates), "alone-commands/s")
	b.ReportMetric(median(beside.rates), "beside-commands/s")
	b.ReportMetric(100*(median(beside.rates)/median(alone.rates)-1), "%rate")
	b.ReportMetric(median(alone.cpu), "alone-cpu-µs/command")
	b.ReportMetric(median(beside.cpu), "beside-cpu-µs/command")
	b.ReportMetric(100*(median(beside.cpu)/median(alone.cpu)-1), "%cpu")
	b.ReportMetric(0, "ns/op")
}

// drive buys with 32 clients for a time, and returns the number of purchases.
func (w *world) drive(accounts []string, slice time.Duration) int64 {
	const clients = 32
	var running sync.WaitGroup
	var done atomic.Int64
	began := time.Now()
	for c := range clients {
		running.Go(func() {
			for n := c; time.Since(began) < slice; n += clients {
				w.buy(accounts[n%len(accounts)], 1)
				done.Add(1)
			}
		})
	}
	running.Wait()
	return done.Load()
}

// costs are those of several slices: commands a second, and microseconds of processor time for each command.
type costs struct{ rates, cpu []float64 }

func (c *costs) measure(w *world, drive func() int64) {
	before, began := w.processorTime(), time.Now()
	n := float64(drive())
	c.rates = append(c.rates, n/time.Since(began).Seconds())
	c.cpu = append(c.cpu, float64((w.processorTime()-before).Microseconds())/n)
}

// processorTime returns the processor time of this process and of the processes of Postgres that run now.
func (w *world) processorTime() time.Duration {
	w.Helper()
	var own syscall.Rusage
	require.NoError(w, syscall.Getrusage(syscall.RUSAGE_SELF, &own))
	total := time.Duration(own.Utime.Nano() + own.Stime.Nano())
	rows, err := w.owner.Query(w.Context(), "select pid from pg_stat_activity")
	require.NoError(w, err)
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	require.NoError(w, err)
	for _, pid := range pids {
		total += processorTimeOf(pid)
	}
	return total
}

// processorTimeOf returns the processor time of a process, 0 when it has ended. Linux counts it in hundredths of a
// second.
func processorTimeOf(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	const user, system = 11, 12 // after the name
	u, _ := strconv.ParseInt(fields[user], 10, 64)
	s, _ := strconv.ParseInt(fields[system], 10, 64)
	return time.Duration(u+s) * 10 * time.Millisecond
}

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}
