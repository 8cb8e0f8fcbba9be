package narrative_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/narrative"
)

// BenchmarkFourHours describes the longest allowed video: a street with twenty objects of ten
// kinds at any time, each for ten seconds on average.
func BenchmarkFourHours(b *testing.B) {
	const samples, objects = 4 * 3600 * 2, 20
	type passing struct {
		term, until int
		x, y, dx    float64
	}
	r := rand.New(rand.NewPCG(1, 2))
	ev := evidence.Evidence{Terms: coco, Known: slices.Repeat([]bool{true}, len(coco)), IntervalS: .5, DurationS: samples / 2}
	var street [objects]passing
	for i := range samples {
		f := evidence.Frame{At: float64(i) / 2}
		for k := range street {
			if p := &street[k]; p.until <= i {
				*p = passing{r.IntN(10), i + 1 + r.IntN(40), r.Float64(), r.Float64(), (r.Float64() - .5) / 10}
			}
			p := &street[k]
			f.Detections = append(f.Detections, evidence.Detection{Term: p.term, Score: .3 + .5*r.Float64(), Box: place(p.x, p.y)})
			p.x += p.dx
		}
		ev.Frames = append(ev.Frames, f)
	}
	for b.Loop() {
		if got := narrative.Write(ev, answer.CPU()); len(got) != narrative.MaxEntries {
			b.Fatalf("%d entries", len(got))
		}
	}
}
