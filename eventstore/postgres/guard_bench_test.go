package postgres_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/eventstore"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
)

// BenchmarkMACs compares appends and loads with and without MACs. They alternate in groups of 20, so that
// a drift of the machine affects both.
func BenchmarkMACs(b *testing.B) {
	pool, _ := connect(b)
	guard, err := postgres.OpenGuard(b.Context(), pool, guardKey)
	require.NoError(b, err)
	stores := []*postgres.Store{
		postgres.New(pool, storetest.Codec()), postgres.New(pool, storetest.Codec(), postgres.WithGuard(guard)),
	}
	const group = 20
	took := [2][2][]time.Duration{} // by store, appends and loads
	streams := [2]eventstore.StreamID{{Category: "test", ID: "without"}, {Category: "test", ID: "with"}}
	heads := [2]eventstore.Recorded{}
	for n := 0; b.Loop(); n++ {
		for turn := range 2 {
			which := (turn + n) % 2
			began := time.Now()
			for range group {
				w := eventstore.Write{Stream: streams[which], Expected: heads[which].Version, Chain: heads[which].Chain}
				for i := range 2 {
					w.Events = append(w.Events, eventstore.NewEvent{Event: storetest.Noted{Text: fmt.Sprintf("%0300d", n), Number: i}, Meta: eventstore.Meta{AccountID: "acct_1"}})
				}
				if heads[which].Version%50 == 48 {
					w.Snapshot = fmt.Appendf(nil, `{"sum":%d,"text":"%02000d"}`, n, n)
				}
				recorded, err := stores[which].Append(b.Context(), eventstore.Batch{Writes: []eventstore.Write{w}})
				require.NoError(b, err)
				heads[which] = recorded[1]
			}
			took[which][0] = append(took[which][0], time.Since(began)/group)
			began = time.Now()
			for range group {
				_, err := stores[which].Load(b.Context(), streams[which])
				require.NoError(b, err)
			}
			took[which][1] = append(took[which][1], time.Since(began)/group)
		}
	}
	median := func(d []time.Duration) float64 {
		slices.Sort(d)
		return float64(d[len(d)/2].Nanoseconds()) / 1000
	}
	for i, name := range []string{"append", "load"} {
		without, with := median(took[0][i]), median(took[1][i])
		b.ReportMetric(without, name+"-µs")
		b.ReportMetric(with, name+"-mac-µs")
		b.ReportMetric(100*(with/without-1), name+"-%")
	}
}
