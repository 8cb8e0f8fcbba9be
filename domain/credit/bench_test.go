package credit_test

import (
	"fmt"
	"testing"

	"vqa/domain/credit"
	"vqa/domain/internal/scenario"
)

// crowded returns an account with 256 open holds.
func crowded() credit.State {
	s := aggregate.Fold(granted(1_000_000))
	for i := range 256 {
		s = credit.Evolve(s, held(fmt.Sprintf("an_%03d", i), 1))
	}
	return s
}

// BenchmarkHoldAndSettle decides and folds one hold and its debit, on an account with 256
// other holds.
func BenchmarkHoldAndSettle(b *testing.B) {
	s := crowded()
	step := func(c credit.Command) {
		events, err := credit.Decide(s, c, scenario.Now)
		if err != nil {
			b.Fatal(err)
		}
		s = credit.Evolve(s, events[0])
	}
	b.ReportAllocs()
	for b.Loop() {
		step(hold("an_128b", 1))
		step(settle("an_128b", 1))
	}
}
