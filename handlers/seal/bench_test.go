package seal_test

import (
	"testing"
	"time"
)

// BenchmarkPass seals 60 new events of one account with a node that already runs.
func BenchmarkPass(b *testing.B) {
	w := newWorld(b)
	s := w.sealer()
	w.seals(s)
	var sealing time.Duration
	for b.Loop() {
		for range 60 {
			w.buy(w.account, 1)
		}
		began := time.Now()
		w.seals(s)
		sealing += time.Since(began)
	}
	b.ReportMetric(float64(sealing.Microseconds())/1000/float64(b.N), "ms/pass")
	b.ReportMetric(0, "ns/op")
}
