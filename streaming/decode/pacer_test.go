package decode_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/streaming/assemble"
	"vqa/streaming/decode"
)

// maxGap is the longest time between two pictures that is billed.
const maxGap = 2 * time.Second

// sender makes the picture number i of a stream: the time of the sender in seconds, and its arrival.
type sender func(i int) (key bool, seconds float64, arrives time.Duration)

// paced returns when the samples of n pictures arrive.
func paced(n int, s sender) []time.Duration {
	p := decode.NewPacer()
	var samples []time.Duration
	for i := range n {
		key, seconds, arrives := s(i)
		f := assemble.Picture{Key: key, Time: int64(seconds * assemble.ClockRate), At: arrival.Add(arrives)}
		if _, chosen := p.Next(f); chosen {
			samples = append(samples, arrives)
		}
	}
	return samples
}

// TestHonestSenders: jitter, restarts of the encoder and other clocks leave each stream its samples.
func TestHonestSenders(t *testing.T) {
	t.Parallel()
	const pictures = 1800 // a minute
	even := func(i int) time.Duration { return time.Duration(i) * time.Second / 30 }
	random := rand.New(rand.NewPCG(1, 2))
	late := time.Duration(0)
	for name, s := range map[string]sender{
		"no jitter": func(i int) (bool, float64, time.Duration) { return i == 0, float64(i) / 30, even(i) },
		"jitter of 100 ms": func(i int) (bool, float64, time.Duration) {
			late = max(late, even(i)+time.Duration(random.Int64N(int64(100*time.Millisecond))))
			return i == 0, float64(i) / 30, late
		},
		"all of a second at once": func(i int) (bool, float64, time.Duration) {
			return i == 0, float64(i) / 30, (even(i) + time.Second).Truncate(time.Second)
		},
		"an encoder that begins again each 5 s": func(i int) (bool, float64, time.Duration) {
			return i%150 == 0, float64(i%150) / 30, even(i)
		},
		"an encoder that begins 10 minutes later each 5 s": func(i int) (bool, float64, time.Duration) {
			return i%150 == 0, float64(i)/30 + float64(i/150)*600, even(i)
		},
		"a clock that is 1 % fast": func(i int) (bool, float64, time.Duration) { return i == 0, float64(i) / 30 * 1.01, even(i) },
		"B-pictures": func(i int) (bool, float64, time.Duration) {
			return i == 0, (float64(i) + []float64{0, 2, -1, -1}[i%4]) / 30, even(i)
		},
	} {
		samples := paced(pictures, s)
		require.InDelta(t, 300, len(samples), 10, name)
		for i := range samples[1:] {
			require.Less(t, samples[i+1]-samples[i], 1100*time.Millisecond, "%s: sample %d", name, i)
		}
	}
	// A sender that counts in milliseconds has fewer samples, but it has some.
	samples := paced(pictures, func(i int) (bool, float64, time.Duration) { return i == 0, float64(i) / 30 / 90, even(i) })
	require.InDelta(t, 150, len(samples), 25)
	samples = paced(pictures, func(i int) (bool, float64, time.Duration) { return i == 0, 7, even(i) })
	require.Greater(t, len(samples), 120, "times that stand still")
}

// TestTimesBuyNoSamples has senders whose times ask for a sample of each picture.
func TestTimesBuyNoSamples(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		sender sender
		most   int
	}{
		"1 s for each picture": {func(i int) (bool, float64, time.Duration) {
			return i == 0, float64(i), time.Duration(i) * time.Second / 30
		}, 301},
		"an hour for each picture, all keyframes": {func(i int) (bool, float64, time.Duration) {
			return true, float64(i) * 3600, time.Duration(i) * time.Second / 30
		}, 301},
		"all at once": {func(i int) (bool, float64, time.Duration) { return i == 0, float64(i) / 30, 0 }, 1},
		"100 pictures after each pause that is not billed": {func(i int) (bool, float64, time.Duration) {
			return i == 0, float64(i) / 5, time.Duration(i/100) * (maxGap + time.Millisecond)
		}, 18},
	} {
		require.LessOrEqual(t, len(paced(1800, tt.sender)), tt.most, name)
	}
}

// TestSamplesAreBilled draws senders. The bill of all stretches of the live clock pays for all samples: five for each
// second, and one and a half for the start of each stretch.
func TestSamplesAreBilled(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := decode.NewPacer()
		at, began := arrival, arrival
		samples, stretches, high, sent := 0, 1, int64(0), int64(0)
		billed := time.Duration(0) // of the stretches before
		for i := range rapid.IntRange(1, 200).Draw(t, "pictures") {
			gap := time.Duration(rapid.SampledFrom([]int64{0, 1, 33, 200, 1999, 2001, 10_000}).Draw(t, "gap")) * time.Millisecond
			if i > 0 && gap > maxGap {
				billed += max(at.Sub(began), time.Second)
				stretches, began = stretches+1, at.Add(gap)
			}
			at = at.Add(gap)
			sent += rapid.SampledFrom([]int64{-1 << 40, -100_000, -3000, 0, 1, 3000, 90_000, 1 << 40}).Draw(t, "step")
			placed, chosen := p.Next(assemble.Picture{Key: rapid.Bool().Draw(t, "key"), Time: sent, At: at})
			if placed < high-assemble.ClockRate || placed > high+30*assemble.ClockRate {
				t.Fatalf("the time %d follows %d", placed, high)
			}
			high = max(high, placed)
			if !chosen {
				continue
			}
			samples++
			paid := (billed + at.Sub(began)).Seconds()
			if float64(samples) > 1.5*float64(stretches)+5*paid+1e-9 {
				t.Fatalf("%d samples for %g s in %d stretches", samples, paid, stretches)
			}
		}
	})
}
